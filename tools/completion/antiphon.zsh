#compdef antiphon
# SPDX-License-Identifier: Apache-2.0
#
# Completion of antiphon(1) for zsh.

_antiphon_model() {
    local -a models
    models=(${(f)"$(antiphon models 2>/dev/null | sed -n 's/^ *\([a-z][a-z0-9-]*\)  *\(.*\)/\1:\2/p')"})
    _describe 'built-in model' models
    _files -g '*.(c|so|prog)(-.)'
}

_antiphon_history() {
    _arguments -s \
        '--format[how the trace is written]:format:(auto jsonl jepsen-log edn json)' \
        '--env[what lies between recorder and server]:environment:(tcp tcp\:1 tcp\:2 sync udp)' \
        '--whole[do not take the history apart]' \
        '--distrust[believe none of the promises of the model]' \
        '--time[give up after this time]:time:' \
        '--memory[give up above this much memory]:size:' \
        '--solver-ms[time for one question to Z3]:milliseconds:' \
        '(-j --jobs)'{-j,--jobs}'[how many traces at once]:number:' \
        '--json[print one JSON object for each trace]' \
        '--junit[also write JUnit XML]:file:_files' \
        '--explain[show why]' \
        '--color[use colours]:when:(auto always never)' \
        '--quiet[print nothing for a trace that passes]' \
        '--verbose[a row for each trace, however many there are]' \
        '--help[show how the command is used]' \
        '1:model:_antiphon_model' \
        '*:trace:_files'
}

_antiphon() {
    local -a commands
    commands=(
        'check:decide whether a model explains traces'
        'explain:show why a trace is explained or not'
        'models:list the built-in models'
        'help:show how a command is used'
        'version:show the version'
    )
    if ((CURRENT == 2)); then
        _describe 'command' commands
        return
    fi
    case $words[2] in
    check | explain)
        shift words
        ((CURRENT--))
        _antiphon_history
        ;;
    help) _describe 'command' commands ;;
    esac
}

_antiphon "$@"
