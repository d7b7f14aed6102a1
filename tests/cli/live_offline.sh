#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# live_offline.sh - the verdict of a live test equals the verdict of `antiphon check` on its trace, in CAMPAIGNS (40) short
#             campaigns against served models and their mutants. `make live-offline` runs a thousand.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 1

campaigns=${CAMPAIGNS:-$((40 * ${ANTIPHON_CASES:-100} / 100))}
RANDOM=${SEED:-1}
passes=0 fails=0 unknowns=0

# field NAME FILE: prints the first value of a field of a JSON object.
field() { sed -n "s/.*\"$1\":\"*\([^\",}]*\).*/\1/p" "$2"; }

# pick WORD...: sets $picked to one of the words.
pick() {
    shift $((RANDOM % $#))
    picked=$1
}

# choose_server: sets $model, and $mutant to one of its mutants or to nothing.
choose_server() {
    local mutants
    pick "${models[@]}"
    model=$picked mutant=
    [ $((RANDOM % 2)) -eq 0 ] || return 0
    read -r -a mutants < <("$ANTIPHON" models "$model" | sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p' | tr '\n' ' ')
    pick "${mutants[@]}"
    mutant=$picked
}

# choose_environment: sets $environment. With udp, a tester also observes silence, which a trace does not record.
choose_environment() {
    case $model in
    http*) environment=tcp ;;
    *) pick tcp tcp tcp tcp:2 sync && environment=$picked ;;
    esac
}

# same_verdict LIVE CODE: a fail is a fail in the trace; every other verdict is about a trace that passes, or that has no
# response (7).
same_verdict() {
    case $1 in
    fail) [ "$2" -eq 1 ] && fails=$((fails + 1)) ;;
    unknown) unknowns=$((unknowns + 1)) ;;
    *) { [ "$2" -eq 0 ] || [ "$2" -eq 7 ]; } && passes=$((passes + 1)) ;;
    esac
}

# same_in_variants TRACE CODE: with other connections and as one state, the trace has the same verdict; its first half passes
# if it passes.
same_in_variants() {
    sed 's/"conn":\([0-9]\{1,4\}\),/"conn":7000\1,/' "$1" >renamed
    head -n $(($(wc -l <"$1") / 2 + 1)) "$1" >half # at least the header and a request
    judge renamed && [ "$code" -eq "$2" ] && judge "$1" --whole && [ "$code" -eq "$2" ] && { [ "$2" -ne 0 ] ||
        { judge half && { [ "$code" -eq 0 ] || [ "$code" -eq 7 ]; }; }; }
}

# judge TRACE OPTION...: sets $code to the exit code of antiphon check.
judge() {
    "$ANTIPHON" check --json --env "$environment" "${@:2}" "$model" "$1" >out 2>>err
    code=$?
}

campaign() {
    local number=$1 folder=campaign-$1 serve calls=() live trace
    choose_server
    choose_environment
    pick 0 0.1 1
    serve="'$ANTIPHON' serve $model --port {port} --seed $number ${mutant:+--mutate $mutant} --env ${environment%:*}"
    [ "$environment" = sync ] || serve+=" --delay $picked"
    [ "$model" != http-proxy ] || {
        calls=(--listen 0)
        serve+=' --calls 127.0.0.1:{listen:0} --calls 127.0.0.1:{listen:1} --calls 127.0.0.1:{listen:2}'
    }
    title="test $model --run \"$serve\" ${calls[*]} --env $environment --seed $number"
    "$ANTIPHON" test "$model" --run "$serve" "${calls[@]}" --env "$environment" --seed "$number" --no-shrink --json \
        --connections $((1 + RANDOM % 6)) --pipeline $((1 + RANDOM % 3)) --messages $((20 + RANDOM % 100)) --folder "$folder" \
        "${budgets[@]}" >out 2>err </dev/null
    live=$(sed -n 's/^{"verdict":"\([a-z]*\)".*/\1/p' out)
    cp out live
    trace=$(find "$folder" -name "*.trace" -o -name trace.jsonl | sort | head -n 1)
    check "no verdict or no trace ($live)" [ -n "$live" -a -n "$trace" ]
    judge "$trace"
    if same_verdict "$live" $code && same_in_variants "$trace" $code; then
        rm -rf "$folder"
    else
        fail "$live, but the exit code of check is $code"
        cat live
        head -n 50 "$trace"
    fi
}

# swap-impl sends bytes in chunks, and is for antiphon refine.
mapfile -t models < <("$ANTIPHON" models | sed '/^$/,$d; s/ .*//' | grep -v -x swap-impl)
check 'no models' [ ${#models[@]} -gt 0 ]
for number in $(seq "$campaigns"); do campaign "$number"; done
title="$campaigns campaigns"
echo "$title: $passes passes, $fails fails, $unknowns unknown"
check 'too few passes or fails, or too many unknown verdicts' \
    [ $((5 * passes)) -gt "$campaigns" -a $((5 * fails)) -gt "$campaigns" -a $((20 * unknowns)) -le "$campaigns" ]
finish
