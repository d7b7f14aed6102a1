#compdef antiphon
# SPDX-License-Identifier: Apache-2.0
#
# zsh completion for antiphon. The program itself says what there is: commands and options are those of its help.

_antiphon() {
    local program=$words[1] command=$words[2] before=$words[CURRENT-1]
    local -a found

    if ((CURRENT == 2)) || [[ $command == help ]]; then
        found=(${(f)"$($program help 2>/dev/null | sed -n '/^exit codes/q; s/^  \([a-z][a-z]*\)  *\(.*\)/\1:\2/p')"})
        _describe command found
        return
    fi
    case $before in
    --format) compadd auto jsonl jepsen-log edn json ;;
    --env) compadd tcp sync udp ;;
    --color) compadd auto always never ;;
    --subject) compadd ${(f)"$($program subject 2>/dev/null | sed 's/ .*//')"} ;;
    --break)
        found=(${(f)"$($program fault --list 2>/dev/null | sed 's/^\([^ ]*\)  *\(.*\)/\1:\2/')"})
        _describe kind found
        ;;
    --operators) compadd ${(f)"$($program mutate --help 2>/dev/null | sed -n 's/^ \{23\}\([a-z][a-z]*\) .*/\1/p')"} ;;
    --junit | --equivalent | --report | --trace | --output | --folder) _files ;;
    *)
        if [[ $PREFIX == -* ]]; then
            found=(${(f)"$($program $command --help 2>/dev/null | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\)[^ ]*\( [A-Z:]*\)\{0,1\}  *\(.*\)/\2:\4/p')"})
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
        ;;
    esac
}

_antiphon "$@"
