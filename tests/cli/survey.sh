#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# survey.sh - antiphon survey: no violations by the web server in subjects/, violations by a mutant and by real servers; an
# index of all pages; server data has no effect as markup in a browser.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh" || exit 1
: "${ANTIPHON_SUBJECTS:?names the folder of the subjects}"

cd "$dir" || exit 1
quick=(--messages 600 "${budgets[@]}")

run 2 survey http
err 'no server; give'
run 2 survey --subject web
err 'survey: too few operands'
run 2 survey http --subject web --seed x
err '--seed x: not a whole number'
run 2 survey http --subject nobody --out nowhere
err 'nobody: unknown subject'
run 30 survey no-such-model --subject web
: >file
run 4 survey http --subject web --out file/in "${quick[@]}"
err 'file'

# page NAME TEXT...: expects the texts on that page.
page() {
    local name=$1
    shift
    for text; do
        check "not in $name.html: $text" grep -qF -e "$text" "pages/$name.html"
    done
}

run 0 survey http --subject web --out pages "${quick[@]}"
out 'web        pass'
page web 'None found' 'Choices' 'RFC 9110 8.8.3' 'strong tag' '>pass<'
check 'no link to web in the index' grep -qF '<a href="web.html">' pages/index.html

# A later survey adds to the index. The counterexample of the mutant can be replayed and has its own page.
run 0 survey http --run "'$ANTIPHON_SUBJECTS/web-mutant-08' {port}" --out pages "${quick[@]}"
out 'server-1   fail'
page server-1 'Violations' 'subject' 'RFC 9110' 'antiphon replay --run'
check 'no link to web in the index' grep -qF '<a href="web.html">' pages/index.html
check 'no link to the mutant in the index' grep -qF '<a href="server-1.html">' pages/index.html
scripts=(pages/server-1/*.script)
check 'the counterexample has no page' [ -s pages/server-1/1.html ]
run 1 replay --run "'$ANTIPHON_SUBJECTS/web-mutant-08' {port}" "${scripts[0]}" http
out 'expected'
# A counterexample is printed as text, not as JSON.
no_out '"method":'

# Invalid results are not in the index.
echo '{"survey":1' >pages/broken.json
echo '[]' >pages/other.json
run 0 survey http --subject web --out pages "${quick[@]}"
check 'not two servers in the index' [ "$(grep -c '^<tr><td>' pages/index.html)" -eq 2 ]

if [ -n "$(command -v nginx || ls /usr/sbin/nginx 2>/dev/null)" ]; then
    run 0 survey http --subject nginx --out pages "${quick[@]}"
    out 'conditional-writes-ignored'
    page nginx '--waive conditional-writes-ignored' 'RFC 9110 13.2.1' 'nginx/' 'subject'
    check 'an unnecessary waiver' [ "$(grep -c -e '--waive if-none-match-strong' pages/nginx.html)" -eq 0 ]
fi

# In a browser: no errors, no network requests, no elements but ours.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -n "$browser" ] && [ -x "$(dirname "$ANTIPHON")/test_survey_page" ]; then
    "$(dirname "$ANTIPHON")/test_survey_page" "$dir/pages"
    for name in hostile index server-1; do
        title="the page $name"
        HOME=$dir timeout $hang_s "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
            --disable-background-networking --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$dir/profile" \
            --log-net-log="$dir/net" --enable-logging=stderr --dump-dom "file://$dir/pages/$name.html" >"$dir/dom" 2>"$dir/log"
        sed 's/</\n</g' "$dir/dom" >"$dir/seen"
        check 'the browser shows no page' grep -q '^</html>' "$dir/seen"
        check 'the browser reports an error' [ "$(grep -ac CONSOLE "$dir/log")" -eq 0 ]
        check 'the page makes a network request' [ "$(grep -c 'evil\.invalid' "$dir/net")" -eq 0 ]
        for tag in '<img' '<script' '<iframe' '<form' '<object'; do
            check "the page has $tag" [ "$(grep -c "^$tag" "$dir/seen")" -eq 0 ]
        done
        check 'an element has an event handler' [ "$(grep -cE '^<[a-zA-Z]+[^>]* on[a-z]+=' "$dir/seen")" -eq 0 ]
    done
fi
finish
