# SPDX-License-Identifier: Apache-2.0
#
# bash completion for antiphon. The program itself says what there is: commands and options are those of its help.

# The built-in models: the first word of each line, up to the programs, which no other command takes.
_antiphon_models() {
    "${COMP_WORDS[0]}" models 2>/dev/null | sed '/^$/,$d; s/[[:space:]].*//'
}

# The servers that it can start: the same.
_antiphon_subjects() {
    "${COMP_WORDS[0]}" subject 2>/dev/null | sed 's/[[:space:]].*//'
}

# The commands: the first word of the indented lines before the exit codes.
_antiphon_commands() {
    "${COMP_WORDS[0]}" help 2>/dev/null | sed -n '/^exit codes/q; s/^  \([a-z][a-z]*\) .*/\1/p'
}

_antiphon_options() {
    "${COMP_WORDS[0]}" "$1" --help 2>/dev/null | grep -oE -e '(^|[[:space:]])--[a-z][a-z-]*' | tr -d '[:blank:]' | sort -u
}

_antiphon() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]:-}
    local words='' files=no

    if [ "$COMP_CWORD" -eq 1 ] || [ "$command" = help ]; then
        words=$(_antiphon_commands)
    else
        case $before in
        --format) words='auto jsonl jepsen-log edn json' ;;
        --env) words='tcp sync udp' ;;
        --color) words='auto always never' ;;
        --subject) words=$(_antiphon_subjects) ;;
        --break) words=$("${COMP_WORDS[0]}" fault --list 2>/dev/null | sed 's/[[:space:]].*//') ;;
        --operators) words=$("${COMP_WORDS[0]}" mutate --help 2>/dev/null | sed -n 's/^ \{23\}\([a-z][a-z]*\) .*/\1/p') ;;
        --junit | --equivalent | --report | --trace | --output | --folder | --checkpoint) files=yes ;;
        *)
            case $word in
            -*) words=$(_antiphon_options "$command") ;;
            *)
                case $command in
                subject) words=$(_antiphon_subjects) ;;
                mutate) files=yes ;;
                *) words=$(_antiphon_models) files=yes ;;
                esac
                ;;
            esac
            ;;
        esac
    fi
    # shellcheck disable=SC2207 # none of the words has a blank in it
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    if [ $files = yes ]; then
        local IFS=$'\n'
        # shellcheck disable=SC2207 # one name a line
        COMPREPLY+=($(compgen -f -- "$word"))
        compopt -o filenames 2>/dev/null
    fi
}

complete -F _antiphon antiphon
