# SPDX-License-Identifier: Apache-2.0
#
# Completion of antiphon(1) for bash.

_antiphon_options='--format --env --whole --distrust --time --memory --solver-ms -j --jobs --json --junit --explain --color
    --quiet --verbose --help'

# The built-in models, as the program itself lists them: the first word of each line.
_antiphon_models() {
    antiphon models 2>/dev/null | sed -n 's/^ *\([a-z][a-z0-9-]*\) .*/\1/p'
}

_antiphon() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
    local words='' files=no

    if [ "$COMP_CWORD" -eq 1 ]; then
        words='check explain models help version'
    else
        case $command in
        help) words='check explain models help version' ;;
        check | explain)
            case $before in
            --format) words='auto jsonl jepsen-log edn json' ;;
            --env) words='tcp tcp:1 tcp:2 sync udp' ;;
            --color) words='auto always never' ;;
            --time | --memory | --solver-ms | -j | --jobs) ;;
            --junit) files=yes ;;
            *)
                case $word in
                -*) words=$_antiphon_options ;;
                *) words=$(_antiphon_models) files=yes ;;
                esac
                ;;
            esac
            ;;
        esac
    fi

    COMPREPLY=()
    local match
    while IFS= read -r match; do COMPREPLY+=("$match"); done < <(
        compgen -W "$words" -- "$word"
        [ $files = no ] || compgen -f -- "$word"
    )
    if [ $files = yes ]; then compopt -o filenames 2>/dev/null; fi
}

complete -F _antiphon antiphon
