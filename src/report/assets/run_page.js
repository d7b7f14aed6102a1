// run_page.js - the page of a run: draws the data block.
//
// Server data enters the document only as text nodes and plain attributes; this script never parses markup, and the
// content security policy allows no other script. The data block lists messages in a compact form (run_page.c); the
// diagram shows a movable window of them.
"use strict";
(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const PAGE = 28;             // messages in a window
    const BEFORE = 20;           // of which precede the message of interest
    const ROW = 38, REMARK = 22, SLANT = 9, HEAD = 44, PAUSE_US = 100000;
    const KINDS = {s: "sent", r: "received", l: "lost", m: "malformed", c: "closed", d: "dropped", q: "silence"};
    const AGAINST = ["fail", "malformed", "starved", "dead"];

    // ---- making elements --------------------------------------------------------------------------------------------

    function fill(node, attributes, children) {
        for (const [name, value] of Object.entries(attributes))
            node.setAttribute(name, value);
        for (const child of children)
            node.append(child);
        return node;
    }
    const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
    const svg = (tag, attributes = {}, ...children) =>
        fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
    const button = (text, act, attributes = {}) => {
        const b = el("button", {type: "button", ...attributes}, text);
        b.addEventListener("click", act);
        return b;
    };
    const card = (title, ...children) => el("section", {class: "card"}, el("h2", {}, title), ...children);
    const faint = text => el("p", {class: "faint"}, text);
    const rest = (n, text) => n ? [faint(text)] : []; // a note about omitted items, if any
    const pairs = (kind, rows) =>
        el("dl", {class: kind}, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));

    // ---- texts ------------------------------------------------------------------------------------------------------

    const count = n => n.toLocaleString("en-US");
    const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
    const ms = us => `${Math.floor(us / 1000)}.${String(us % 1000).padStart(3, "0")}`;
    const span = us => us < 1000 ? `${us} µs` : us < 1e6 ? `${(us / 1000).toFixed(us < 1e5 ? 2 : 0)} ms`
        : `${(us / 1e6).toFixed(2)} s`;
    const cut = (text, room) => {
        if (text.length <= room)
            return text;
        const points = Array.from(text);
        return points.length <= room ? text : points.slice(0, Math.max(0, room - 1)).join("") + "…";
    };

    // Splits long JSON-like text into lines.
    function pretty(text) {
        if (text.length < 50 || !/^[[{]/.test(text))
            return text;
        let out = "", depth = 0, quoted = false;
        const line = () => "\n" + "  ".repeat(Math.min(depth, 20));
        for (let i = 0; i < text.length; i++) {
            const c = text[i];
            if (quoted) {
                out += c;
                if (c === "\\")
                    out += text[++i] ?? "";
                else if (c === '"')
                    quoted = false;
            } else if (c === '"') {
                quoted = true;
                out += c;
            } else if (c === "{" || c === "[") {
                const empty = text[i + 1] === "}" || text[i + 1] === "]";
                depth += !empty;
                out += empty ? c + text[++i] : c + line();
            } else if (c === "}" || c === "]") {
                depth--;
                out += line() + c;
            } else {
                out += c === "," ? c + line() : c === ":" ? ": " : c;
            }
        }
        return out;
    }

    // ---- the messages -----------------------------------------------------------------------------------------------

    // Each record: the letter of the kind, then in base 36 the connection, the label and the time in microseconds (both
    // relative to the previous record), and the index of the text.
    function decode(rows) {
        let label = 0, at = data.began;
        return rows === "" ? [] : rows.split(";").map((record, k) => {
            const [conn, step, passed, text] = record.slice(1).split(",").map(field => parseInt(field, 36));
            label += step;
            at += passed;
            return {i: data.first + k, kind: KINDS[record[0]], out: "sc".includes(record[0]), conn, label, at, text};
        });
    }
    const messages = decode(data.rows);
    const end = data.first + messages.length;
    const at = i => messages[i - data.first];
    const number = i => data.earlier + i + 1;
    const fails = i => i === data.failing;
    const words = m => data.texts[m.text];
    const place = new Map(); // label -> index
    for (const m of messages)
        if (m.label)
            place.set(m.label, m.i);
    const partner = m => m.label ? place.get(m.label % 2 ? m.label + 1 : m.label - 1) : undefined;
    const tag = m => m.label ? `#${m.label} ` : "";
    const description = m => `${tag(m)}connection ${m.conn} ${m.out ? "to subject" : "from subject"}: ${words(m)}, `
        + `at ${ms(m.at)} ms${fails(m.i) ? ", not explained" : ""}`;

    let from = 0, to = 0;   // the window
    let chosen = -1;        // the selected message

    function moveWindow(i) { // to contain message i
        const size = Math.min(PAGE, messages.length);
        from = Math.min(Math.max(i - BEFORE, data.first), end - size);
        to = from + size;
    }

    // ---- the diagram ------------------------------------------------------------------------------------------------

    const diagram = svg("svg", {role: "group", "aria-label": "space-time diagram"});
    const frame = el("div", {class: "diagram"}, diagram);
    let advance = 7.8; // the width of a character

    function layout() {
        const width = Math.max(480, frame.clientWidth);
        const shown = messages.slice(from - data.first, to - data.first);
        const conns = [...new Set(shown.map(m => m.conn))].sort((a, b) => a - b);
        const times = 30 + advance * Math.max(2, ms(at(to - 1).at).length);
        const spacing = Math.min(110, Math.max(13, (width - times - 380) / Math.max(1, conns.length)));
        const start = times + Math.min(40, spacing / 2 + 14);
        const last = start + (conns.length - 1) * spacing;
        const label = last + 30;
        const subject = Math.max(label + 220, Math.min(width - 48, label + 760));
        return {width: subject + 48, conns, spacing, times, label, subject,
            x: new Map(conns.map((c, k) => [c, Math.round(start + k * spacing)]))};
    }

    // Connection numbers from 2^32 on were opened by the subject.
    function name(c, short) {
        const called = c >= 2 ** 32;
        return called ? `call ${c - 2 ** 32}` : short ? String(c) : `conn ${c}`;
    }

    function heading(l) {
        const y = HEAD - 18, narrow = l.spacing < 62, middle = {class: "head", y, "text-anchor": "middle"};
        const head = svg("g", {"aria-hidden": "true"},
            svg("text", {class: "time", x: l.times - 12, y, "text-anchor": "end"}, "ms"),
            svg("text", {...middle, x: l.subject}, "subject"));
        const tight = narrow && l.conns.some(c => l.spacing < 9 * String(c).length + 6);
        for (const c of l.conns) {
            const x = l.x.get(c);
            const turned = tight ? {class: "head tight", transform: `rotate(-70 ${x + 4} ${y + 2})`,
                "text-anchor": "start"} : {};
            head.append(svg("text", {...middle, x, ...turned}, cut(name(c, narrow), narrow ? 8 : 24)));
        }
        if (narrow)
            head.append(svg("text", {class: "remark", x: l.label, y}, "connections"));
        return head;
    }

    function tip(x, y, dx, dy) {
        const n = Math.hypot(dx, dy), ux = dx / n, uy = dy / n, size = 9, half = 4;
        const p = [[x, y], [x - ux * size - uy * half, y - uy * size + ux * half],
            [x - ux * size + uy * half, y - uy * size - ux * half]];
        return svg("polygon", {class: "tip", points: p.map(q => q.map(v => v.toFixed(1)).join(",")).join(" ")});
    }

    // One message; y is the height of its end at the tester.
    function arrow(m, l, y) {
        const x = l.x.get(m.conn);
        const [x1, y1, x2, y2] = m.out ? [x, y, l.subject, y + SLANT] : [l.subject, y - SLANT, x, y];
        const head = `${fails(m.i) ? "✗ " : ""}${m.label ? `#${m.label}` : ""}`;
        const shift = head ? (Array.from(head).length + 1) * advance : 0;
        const room = Math.floor((l.subject - 16 - l.label - shift) / advance), text = cut(words(m), room);
        const height = x => y1 + (y2 - y1) * (x - x1) / (x2 - x1); // of the arrow; the label must not touch it
        const base = (Math.min(height(l.label), height(l.label + shift + text.length * advance)) - 5).toFixed(1);
        const g = svg("g", {class: `message ${m.kind}${fails(m.i) ? " failing" : ""}`, "data-i": m.i, role: "button",
            tabindex: m.i === chosen ? 0 : -1, "aria-label": description(m)});
        g.append(svg("rect", {class: "hit", x: 1, y: y - 25, width: l.width - 2, height: ROW, rx: 4}),
            svg("text", {class: "time", x: l.times - 12, y: y + 4, "text-anchor": "end"}, ms(m.at)),
            svg("line", {class: "arrow", x1, y1, x2, y2}), tip(x2, y2, x2 - x1, y2 - y1));
        if (fails(m.i))
            g.append(svg("text", {class: "cross", x: 8, y: y + 4}, "✗"));
        g.append(svg("text", {class: fails(m.i) ? "label" : "number", x: l.label, y: base}, head),
            svg("text", {class: "label", x: (l.label + shift).toFixed(1), y: base}, text));
        g.addEventListener("click", () => choose(m.i, true));
        g.addEventListener("focus", () => { if (chosen !== m.i) choose(m.i); });
        g.addEventListener("mouseenter", () => show(m));
        g.addEventListener("mouseleave", () => show(at(chosen)));
        return g;
    }

    function expected(l, y, into) {
        const seen = new Set(), room = Math.floor((l.subject - l.label - 84) / advance);
        for (const a of data.allowed) {
            const text = a.answer + (a.clauses.length ? ` (${a.clauses.join(", ")})` : "");
            if (seen.has(text) || seen.size === 4)
                continue;
            const name = seen.size ? "or" : "expected";
            into.append(svg("text", {class: "expected", x: l.label + 66, y, "text-anchor": "end"}, name),
                svg("text", {class: "expected", x: l.label + 74, y}, cut(text, room)));
            seen.add(text);
            y += REMARK - 4;
        }
        return seen.size ? y + 22 : y;
    }

    function remark(m, before) {
        const wait = m.out ? data.waits[m.label] : undefined, passed = before ? m.at - before.at : 0;
        const pause = passed >= PAUSE_US ? span(passed) : "";
        return wait ? `waits for ${wait}${pause && ": "}${pause}` : pause && `${pause} without a message`;
    }

    function draw() {
        if (!messages.length)
            return;
        const focused = diagram.contains(document.activeElement);
        diagram.replaceChildren();
        const probe = svg("text", {}, "M".repeat(20));
        diagram.append(probe);
        advance = probe.getComputedTextLength() / 20 || advance;
        probe.remove();
        const l = layout(), lanes = svg("g", {"aria-hidden": "true"}), body = svg("g");
        let y = HEAD + 26;
        for (let i = from; i < to; i++) {
            const m = at(i), text = remark(m, i > from ? at(i - 1) : undefined);
            if (text) {
                body.append(svg("text", {class: "remark", x: l.label, y: y - 4}, text));
                y += REMARK;
            }
            body.append(arrow(m, l, y));
            y += ROW;
            if (fails(i))
                y = expected(l, y - 8, body);
        }
        for (const [c, x] of [...l.x, ["subject", l.subject]])
            lanes.append(svg("line", {class: "lane", "data-of": c, x1: x, y1: HEAD - 8, x2: x, y2: y - 12}));
        diagram.append(lanes, heading(l), body);
        diagram.setAttribute("width", l.width);
        diagram.setAttribute("height", y);
        diagram.setAttribute("viewBox", `0 0 ${l.width} ${y}`);
        mark();
        if (focused)
            diagram.querySelector(".chosen")?.focus({preventScroll: true});
        position();
    }

    function mark() {
        const pair = chosen >= 0 ? partner(at(chosen)) : undefined;
        for (const g of diagram.querySelectorAll(".message")) {
            const i = Number(g.dataset.i);
            g.classList.toggle("chosen", i === chosen);
            g.classList.toggle("pair", i === pair);
            g.setAttribute("tabindex", i === chosen ? 0 : -1);
        }
    }

    // Selects a message; moves the window if necessary.
    function choose(i, focus = false) {
        if (!messages.length)
            return;
        chosen = Math.min(Math.max(i, data.first), end - 1);
        if (chosen < from || chosen >= to) {
            moveWindow(chosen);
            draw();
        } else {
            mark();
        }
        show(at(chosen));
        if (focus)
            diagram.querySelector(".chosen")?.focus({preventScroll: false});
    }

    diagram.addEventListener("keydown", e => {
        const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE, Home: -Infinity, End: Infinity};
        if (!(e.key in steps) || e.ctrlKey || e.altKey || e.metaKey)
            return;
        e.preventDefault();
        choose(chosen + steps[e.key], true);
    });

    // ---- the panel: one message in full -----------------------------------------------------------------------------

    const panel = el("aside", {class: "card panel", "aria-live": "polite", "aria-label": "the selected message"});

    function jump(label) {
        const i = place.get(label);
        return i === undefined ? el("span", {class: "chip"}, `#${label} `)
            : button(`#${label}`, () => choose(i, true), {class: "chip", title: words(at(i))});
    }

    function show(m) {
        if (!m)
            return;
        const before = m.i > data.first ? at(m.i - 1) : undefined, other = partner(m), wait = data.waits[m.label];
        const rows = [["message", `${count(number(m.i))} of ${count(data.earlier + data.count)}`],
            ["time", `${ms(m.at)} ms${before ? `, ${span(m.at - before.at)} after the previous one` : ""}`],
            ["connection", String(m.conn)], ["direction", m.out ? "tester to subject" : "subject to tester"]];
        if (wait && m.out)
            rows.push(["waits for", wait]);
        if (other !== undefined)
            rows.push([m.label % 2 ? "response" : "request", jump(at(other).label)]);
        const body = data.full[m.text] ?? words(m);
        panel.replaceChildren(el("h2", {}, `${fails(m.i) ? "✗ " : ""}${tag(m)}${m.kind}`),
            pairs("", rows), el("pre", m.kind === "malformed" ? {class: "wide"} : {}, pretty(body)));
        if (body.endsWith("…"))
            panel.append(faint("Truncated; the trace contains the whole message."));
    }

    // ---- the strip: position of the window in the run ---------------------------------------------------------------

    const where = el("span", {class: "faint", role: "status"});
    const strip = svg("svg", {height: 48, tabindex: 0, role: "slider", "aria-label": "position in the run"});
    const earlier = button("← Earlier", () => choose(from - PAGE + BEFORE));
    const later = button("Later →", () => choose(to + BEFORE));
    const failing = button("To the failure", () => choose(data.failing, true));
    const search = el("input", {type: "search", placeholder: "find in messages", "aria-label": "find in messages"});

    function position() {
        const total = data.earlier + data.count;
        where.textContent = `messages ${count(number(from))}–${count(number(to - 1))} of ${count(total)}`;
        earlier.disabled = from === data.first;
        later.disabled = to === end;
        if (data.count > PAGE)
            drawStrip();
    }

    function drawStrip() {
        const {out, in: back, from_us: low, to_us: high} = data.density, n = out.length, mid = 24;
        const width = Math.max(320, frame.clientWidth), bar = width / n, most = Math.max(1, ...out, ...back);
        const x = us => (us - low) / Math.max(1, high - low) * width;
        const height = k => k ? Math.max(1.5, k / most * 20) : 0;
        const thick = Math.max(.5, bar - .5);
        const shapes = out.flatMap((k, b) => [
            svg("rect", {class: "out", x: b * bar, width: thick, y: mid - height(k), height: height(k)}),
            svg("rect", {class: "back", x: b * bar, width: thick, y: mid, height: height(back[b])})]);
        const left = data.first ? x(at(data.first).at) : 0;
        const start = x(at(from).at), stop = Math.max(start + 4, x(at(to - 1).at));
        strip.replaceChildren(...shapes, svg("rect", {class: "unlisted", x: 0, y: 0, width: left, height: 48}),
            svg("line", {class: "axis", x1: 0, y1: mid, x2: width, y2: mid}),
            svg("rect", {class: "window", x: start, y: 0, width: stop - start, height: 48}));
        if (data.failing >= 0) {
            const bad = x(at(data.failing).at);
            strip.append(svg("line", {class: "fails", x1: bad, y1: 0, x2: bad, y2: 48}));
        }
        strip.setAttribute("width", width);
        strip.setAttribute("aria-valuemin", number(data.first));
        strip.setAttribute("aria-valuemax", number(end - 1));
        strip.setAttribute("aria-valuenow", number(from));
        strip.setAttribute("aria-valuetext", where.textContent);
    }

    function seek(e) {
        const {from_us: low, to_us: high} = data.density, box = strip.getBoundingClientRect();
        const us = low + (e.clientX - box.left) / box.width * (high - low);
        let a = 0, b = messages.length - 1;
        while (a < b) {
            const middle = (a + b) >> 1;
            if (messages[middle].at < us)
                a = middle + 1;
            else
                b = middle;
        }
        choose(data.first + a);
    }
    strip.addEventListener("pointerdown", seek);
    strip.addEventListener("pointermove", e => { if (e.buttons & 1) seek(e); });
    strip.addEventListener("keydown", e => {
        const steps = {ArrowRight: PAGE, ArrowLeft: -PAGE, Home: -Infinity, End: Infinity};
        if (e.key in steps) {
            e.preventDefault();
            choose(chosen + steps[e.key]);
        }
    });
    search.addEventListener("keydown", e => {
        if (e.key !== "Enter" || !search.value || !messages.length)
            return;
        for (let k = 1; k <= messages.length; k++) {
            const m = messages[(chosen - data.first + k) % messages.length];
            if ((tag(m) + words(m)).includes(search.value)) {
                choose(m.i);
                return;
            }
        }
        where.textContent = "not found";
    });

    // ---- the rest of the page ---------------------------------------------------------------------------------------

    function copied(text, what) {
        const pre = el("pre", {tabindex: 0}, text);
        const b = button("Copy", async () => {
            try {
                await navigator.clipboard.writeText(text);
                b.textContent = "Copied";
            } catch {
                getSelection().selectAllChildren(pre);
                b.textContent = "Selected: press Ctrl+C";
            }
        }, {"aria-label": `copy ${what}`});
        return el("div", {class: "command"}, pre, b);
    }

    function allowedCard() {
        if (!data.allowed.length)
            return [];
        const one = a => {
            const rows = [["response", el("code", {}, a.answer)]];
            if (a.clauses.length)
                rows.push(["clause", el("span", {}, ...a.clauses.map(c => el("span", {class: "clause"}, c)))]);
            if (a.state !== null)
                rows.push(["state", el("code", {}, a.state)]);
            if (a.given)
                rows.push(["where", el("code", {}, a.given)]);
            if (a.order.length)
                rows.push(["order", el("span", {}, ...a.order.map(jump))]);
            return el("div", {class: "allowed"}, pairs("", rows));
        };
        return [card("Allowed by the model",
            faint("One entry for each explanation of the run up to the failing message: the response that it allows, "
                + "the model's state, and an order in which the requests may have been applied."),
            ...data.allowed.map(one),
            ...rest(data.allowed_more, `and ${plural(data.allowed_more, "more explanation")}`),
            ...rest(data.unknowns, data.unknowns))];
    }

    function branchCard() {
        if (!data.branches.length)
            return [];
        const never = data.branches.filter(([, n]) => n === 0).length;
        const rows = [...data.branches].sort((a, b) => (a[1] > 0) - (b[1] > 0)).map(([name, n]) =>
            el("tr", n ? {} : {class: "never"}, el("td", {class: "mark"}, n ? "✓" : "○"), el("td", {}, name),
                el("td", {class: "count"}, n ? count(n) : "never")));
        return [card("Model branches", faint(never ? `${count(never)} of ${count(data.branches.length)} never reached`
            : "all reached"), el("table", {}, el("tbody", {}, ...rows)),
        ...rest(data.branches_more, `and ${count(data.branches_more)} more`))];
    }

    function scriptCard() {
        if (!data.script.length)
            return [];
        return [card("Script", copied(data.script.join("\n"), "the script"), ...rest(data.script_more,
            `and ${plural(data.script_more, "more action")} in the script file`))];
    }

    function diagramCard() {
        if (!messages.length)
            return card("Messages", faint("No message was sent or received."));
        const hidden = data.earlier + data.first, after = data.count - end;
        const bar = el("div", {class: "bar"}, where, el("span", {class: "grow"}));
        if (data.count > PAGE)
            bar.append(earlier, later);
        if (data.failing >= 0 && data.count > PAGE)
            bar.append(failing);
        bar.append(search);
        const missing = [hidden && `the first ${count(hidden)}`, after && `the last ${count(after)}`].filter(Boolean);
        const about = rest(missing.length, `Not on this page, to limit its size: ${missing.join(" and ")} of `
            + `${plural(data.earlier + data.count, "message")}. The trace contains them.`);
        const overview = data.count > PAGE ? [el("div", {class: "strip"}, strip,
            faint("The whole run: sent above the line, received below. Click to move the window."))] : [];
        return el("section", {class: "card", "aria-label": "messages"}, bar, ...overview, ...about, frame);
    }

    function page() {
        const kind = data.verdict === "pass" ? "pass" : AGAINST.includes(data.verdict) ? "against" : "other";
        const name = el("h1", {}, el("span", {class: `verdict ${kind}`}, data.verdict), data.title);
        const why = data.headline ? [el("p", {class: "headline"}, data.headline)] : [];
        const main = el("main", {}, el("header", {}, name, ...why));
        if (data.replay)
            main.append(card("Reproduce", copied(data.replay, "the command")));
        main.append(el("div", {class: "columns"}, diagramCard(), ...(messages.length ? [panel] : [])));
        const facts = data.facts.length ? [card("Run", pairs("facts", data.facts))] : [];
        main.append(el("div", {class: "halves"}, el("div", {}, ...allowedCard(), ...scriptCard()),
            el("div", {}, ...facts, ...branchCard())));
        if (data.text)
            main.append(el("section", {class: "card"}, el("details", {}, el("summary", {}, "As text"),
                el("pre", {class: "wide", tabindex: 0}, data.text))));
        return main;
    }

    function fromAddress() {
        const match = /^#m(\d+)$/.exec(location.hash);
        return match ? Number(match[1]) - 1 - data.earlier : -1;
    }

    document.title = `${data.verdict}: ${data.title}`;
    document.body.replaceChildren(page());
    const linked = fromAddress(), isListed = linked >= data.first && linked < end;
    const first = isListed ? linked : data.failing >= 0 ? data.failing : end - 1;
    moveWindow(first);
    chosen = first;
    draw();
    choose(first);
    addEventListener("hashchange", () => { if (fromAddress() >= data.first) choose(fromAddress()); });
    let width = frame.clientWidth;
    new ResizeObserver(() => {
        if (frame.clientWidth !== width) {
            width = frame.clientWidth;
            draw();
        }
    }).observe(frame);
})();
