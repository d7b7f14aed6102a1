#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# own_modules.sh - a server in a folder of ANTIPHON_SERVERS loads its modules from the folder modules beside it, if there is one.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

installed=/usr/lib/apache2/modules
if [ ! -x /usr/sbin/apache2 ] || [ ! -r $installed/mod_dav_fs.so ]; then
    echo 'no Apache: skipped (tools/setup http installs it)'
    exit 77
fi
chmod 711 "$dir" # as root, Apache runs as another user that needs access
mkdir "$dir/server"
ln -s /usr/sbin/apache2 "$dir/server/apache2"
export ANTIPHON_SERVERS=$dir/server

# Without such a folder, the installed modules are loaded.
run 0 subject apache --resets 1

mkdir "$dir/server/modules"
for module in mpm_event authz_core dav dav_fs; do
    cp "$installed/mod_$module.so" "$dir/server/modules"
done
run 0 subject apache --resets 1

# A module that cannot be loaded shows which one it was.
echo 'not a module' >"$dir/server/modules/mod_dav.so"
run 51 subject apache --resets 1
err "$dir/server/modules/mod_dav.so"

# Without the module that identifies the folder, the installed modules are loaded again.
rm "$dir/server/modules/mod_dav_fs.so"
run 0 subject apache --resets 1
finish
