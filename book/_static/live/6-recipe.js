// Chapter 6: the current is the recipe. One ampere goes in at one text and out at another; the share
// of it that an answer carries is how much that answer is worth. Mathematics: shares() in 1-rails.js.
(() => {
  const { EXAMPLE, NAMES, draw, fixed, frame, pairName, signed } = poeLive.kit;
  const { shares, solve } = poeLive.rails;
  const N = 4;
  const SPOTS = [[40, 104], [180, 26], [320, 104], [180, 182]]; // Ada, Ben, Cleo, Dan
  const MISSING = { first: 1, second: 3, p: 0.5 };
  const TINY = 1e-9;

  poeLive.figures["fig-live-recipe"] = (figure) => {
    let from, to;
    let bridged = false;
    let last = "from"; // which of the two a tap on a text sets
    const redraw = (svg) => {
      const asked = bridged ? [...EXAMPLE, MISSING] : EXAMPLE;
      const [i, j] = [Number(from()), Number(to())];
      const share = i === j ? asked.map(() => 0) : shares(N, asked, i, j);
      const scores = solve("gaussian", N, asked);
      const parts = share.map((f, k) => f * (asked[k].p - 0.5));
      const squares = share.reduce((sum, f) => sum + f * f, 0);
      asked.forEach(({ first, second }, k) => {
        // Along the current: from the text where it enters to the one where it leaves.
        const [a, b] = share[k] >= 0 ? [first, second] : [second, first];
        const [[x1, y1], [x2, y2]] = [SPOTS[a], SPOTS[b]];
        const flows = Math.abs(share[k]) > TINY;
        const width = flows ? 2 + 14 * Math.abs(share[k]) : 1;
        draw(svg, "line", { x1, y1, x2, y2, class: flows ? "live-current" : "live-idle", "stroke-width": width });
        const [dx, dy] = [x2 - x1, y2 - y1];
        const length = Math.hypot(dx, dy);
        const at = (t, off) => [x1 + t * dx - (off * dy) / length, y1 + t * dy + (off * dx) / length];
        if (flows) {
          const tip = 30 / length;
          const back = (30 + 8 + width / 2) / length;
          const spread = 4 + width / 2;
          const corners = [at(1 - tip, 0), at(1 - back, spread), at(1 - back, -spread)];
          draw(svg, "path", { d: `M${corners.map((c) => c.join(",")).join("L")}Z`, class: "live-current-head" });
        }
        // Ben and Dan's line would cross Ada and Cleo's number in the middle.
        const [x, y] = k === 4 ? at(0.32, 0) : k === 5 ? at(0.3, 0) : at(0.5, 0);
        draw(svg, "rect", { x: x - 23, y: y - 9, width: 46, height: 18, class: "live-paper" });
        draw(svg, "text", { x, y: y + 5, class: "live-number", "text-anchor": "middle" }, fixed(Math.abs(share[k]), 3));
      });
      SPOTS.forEach(([x, y], k) => {
        const probe = k === i || k === j;
        draw(svg, "circle", { cx: x, cy: y, r: 22, class: `live-dot live-${k}${probe ? " live-probe" : ""}` });
        draw(svg, "text", { x, y: y + 4, class: "live-label live-on", "text-anchor": "middle" }, NAMES[k]);
        if (probe && i !== j) {
          const side = x < 100 || (x < 200 && y < 100) ? -1 : 1;
          const text = { x: x + (k % 2 ? side * 30 : 0), y: k % 2 ? y + 4 : y - 30, class: "live-name", "text-anchor": k % 2 ? (side < 0 ? "end" : "start") : "middle" };
          draw(svg, "text", text, k === i ? "1 A in" : "1 A out");
        }
        const handle = draw(svg, "circle", { cx: x, cy: y, r: 24, class: "live-tap" });
        handle.addEventListener("click", () => {
          const select = figure.querySelectorAll("select")[last === "from" ? 0 : 1];
          last = last === "from" ? "to" : "from";
          select.value = k;
          select.dispatchEvent(new Event("change"));
        });
      });
      draw(svg, "text", { x: 168, y: 228, class: "live-name", "text-anchor": "end" }, "says");
      draw(svg, "text", { x: 258, y: 228, class: "live-name", "text-anchor": "end" }, "\u00d7 share");
      draw(svg, "text", { x: 340, y: 228, class: "live-name", "text-anchor": "end" }, "= part");
      asked.forEach(({ first, second, p }, k) => {
        const y = 248 + 19 * k;
        const turned = share[k] < 0;
        const [a, b] = turned ? [second, first] : [first, second];
        const said = turned ? 0.5 - p : p - 0.5;
        draw(svg, "text", { x: 8, y, class: "live-label" }, `${NAMES[a]} over ${NAMES[b]}`);
        draw(svg, "text", { x: 168, y, class: "live-number", "text-anchor": "end" }, signed(said));
        draw(svg, "text", { x: 258, y, class: "live-number", "text-anchor": "end" }, `\u00d7 ${fixed(Math.abs(share[k]), 3)}`);
        draw(svg, "text", { x: 340, y, class: "live-number", "text-anchor": "end" }, `= ${signed(parts[k], 4)}`);
      });
      const end = 252 + 19 * asked.length;
      const gap = parts.reduce((sum, v) => sum + v, 0);
      draw(svg, "line", { x1: 8, x2: 340, y1: end - 14, y2: end - 14, class: "live-rule" });
      draw(svg, "text", { x: 8, y: end + 4, class: "live-label" }, "difference: parts, added");
      draw(svg, "text", { x: 340, y: end + 4, class: "live-number", "text-anchor": "end" }, `= ${signed(gap, 4)}`);
      draw(svg, "text", { x: 8, y: end + 24, class: "live-label" }, "variance: shares², added");
      draw(svg, "text", { x: 340, y: end + 24, class: "live-number", "text-anchor": "end" }, `= ${fixed(squares, 3)}`);
      const idle = asked.filter((_, k) => Math.abs(share[k]) <= TINY).map(pairName);
      const words = i === j
        ? "Choose two different texts: the ampere has nowhere to go."
        : `${NAMES[i]} is ${signed(gap, 3)} above ${NAMES[j]}, with variance ${fixed(squares, 3)} \u03c3\u00b2. ` +
          (idle.length ? `The answer for ${idle.join(" and ")} makes no difference.` : "Every answer makes a difference.");
      return { words, state: { comparisons: asked, first: i, second: j, shares: share, difference: scores[i] - scores[j], sum: gap, squares } };
    };
    const asking = (yes) => {
      bridged = yes;
      bridge.textContent = yes ? "Take Ben and Dan out again" : "Ask about Ben and Dan too";
      return true;
    };
    const more = {
      get: () => (bridged ? ["bridged"] : []),
      set: (words) => (words.length === 0 || words[0] === "bridged") && asking(words.length > 0),
    };
    const live = frame(figure, { label: "One ampere between two texts", height: 398, redraw, more });
    const options = NAMES.slice(0, N).map((name, k) => [String(k), name]);
    from = live.choice({ text: "one ampere in at", options, value: "0" });
    to = live.choice({ text: "out at", options, value: "3" });
    const bridge = live.button("Ask about Ben and Dan too", () => asking(!bridged));
    live.restart(() => {
      last = "from";
      asking(false);
    });
    live.update();
  };
})();
