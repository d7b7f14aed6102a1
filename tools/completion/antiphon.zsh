#compdef antiphon
# SPDX-License-Identifier: Apache-2.0
#
# zsh completion for antiphon. Commands, options and their values come from the program (antiphon COMMAND --print-completion).

_antiphon() {
    local program=$words[1] command=$words[2] before=$words[CURRENT-1] values tab=$'\t'
    local -a found

    if ((CURRENT == 2)) || [[ $command == help ]]; then
        found=(${(f)"$($program help 2>/dev/null | sed -n '/^exit codes/q; s/^  \([a-z][a-z]*\)  *\(.*\)/\1:\2/p')"})
        _describe command found
        return
    fi
    case $before in
    --subject)
        compadd ${(f)"$($program subject 2>/dev/null | sed 's/ .*//')"}
        return
        ;;
    --break | --fault-upstream)
        found=(${(f)"$($program fault --list 2>/dev/null | sed 's/^\([^ ]*\)  *\(.*\)/\1:\2/')"})
        _describe kind found
        return
        ;;
    --*) values=$($program $command --print-completion 2>/dev/null | sed -n "s/^$before$tab\([^$tab]*\)$tab.*/\1/p") ;;
    esac
    if [[ $values == files ]]; then
        _files
    elif [[ -n $values ]]; then
        compadd ${=values}
    elif [[ $PREFIX == -* ]]; then
        found=(${(f)"$($program $command --print-completion 2>/dev/null | sed "s/^\([^$tab]*\)$tab[^$tab]*$tab/\1:/")"})
        _describe option found
    elif [[ $command == subject ]]; then
        compadd ${(f)"$($program subject 2>/dev/null | sed 's/ .*//')"}
    elif [[ $command == mutate ]]; then
        _files
    else
        found=(${(f)"$($program models 2>/dev/null | sed '/^$/,$d; s/^\([^ ]*\)  *\(.*\)/\1:\2/')"})
        _describe model found
        _files
    fi
}

_antiphon "$@"
