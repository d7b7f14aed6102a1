# SPDX-License-Identifier: Apache-2.0
#
# bash completion for antiphon. Commands, options and their values come from the program (antiphon COMMAND --print-completion).

# The built-in models: the first word of each line, up to the programs of antiphon reach.
_antiphon_models() {
    "${COMP_WORDS[0]}" models 2>/dev/null | sed '/^$/,$d; s/[[:space:]].*//'
}

_antiphon_subjects() {
    "${COMP_WORDS[0]}" subject 2>/dev/null | sed 's/[[:space:]].*//'
}

# The first word of the indented lines before the exit codes.
_antiphon_commands() {
    "${COMP_WORDS[0]}" help 2>/dev/null | sed -n '/^exit codes/q; s/^  \([a-z][a-z]*\) .*/\1/p'
}

# One line per option: name, tab, values or "files", tab, help.
_antiphon_options() {
    "${COMP_WORDS[0]}" "$1" --print-completion 2>/dev/null
}

_antiphon() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]:-}
    local words='' files=no

    if [ "$COMP_CWORD" -eq 1 ] || [ "$command" = help ]; then
        words=$(_antiphon_commands)
    else
        case $before in
        --subject) words=$(_antiphon_subjects) ;;
        --break | --fault-upstream) words=$("${COMP_WORDS[0]}" fault --list 2>/dev/null | sed 's/[[:space:]].*//') ;;
        --*) words=$(_antiphon_options "$command" | sed -n "s/^$before\t\([^\t]*\)\t.*/\1/p") ;;
        esac
        if [ "$words" = files ]; then
            words='' files=yes
        elif [ -z "$words" ]; then
            case $word:$command in
            -*:*) words=$(_antiphon_options "$command" | cut -f 1) ;;
            *:subject) words=$(_antiphon_subjects) ;;
            *:mutate) files=yes ;;
            *) words=$(_antiphon_models) files=yes ;;
            esac
        fi
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
