// Chapter 8: votes on a string. What Ada's three comparisons say she is worth, as three equal weights
// that hang over pegs and are tied to one ring: it rests at the median. With springs, at the mean.
(() => {
  const { axis, draw, firm, fixed, frame, path, scale, signed } = poeLive.kit;
  const { mean } = poeLive.mathematics;
  const { median } = poeLive.rails;
  const VALUES = [-0.35, 0.15, 0.15]; // of Ben's, Cleo's and Dan's comparison (chapter 8's liar)
  const FROM = ["Ben’s", "Cleo’s", "Dan’s"];
  const [LOW, HIGH] = [-1, 0.6];

  const coil = (from, to, y) => {
    const bends = Array.from({ length: 15 }, (_, k) => [0.12 + (0.76 * k) / 14, k % 2 ? 5 : -5]);
    return path([[0, 0], ...bends, [1, 0]].map(([t, off]) => [from + t * (to - from), y + off]));
  };

  poeLive.figures["fig-live-votes"] = (figure) => {
    let read, kind, inputs;
    const redraw = (svg) => {
      const values = read.map((one) => one());
      const strings = kind() === "strings";
      const ring = strings ? median(values) : mean(values);
      const x = scale([LOW, HIGH], [16, 344]);
      axis(svg, { x, y: 214, ticks: [-1, -0.6, -0.2, 0.2, 0.6], name: "what a comparison says Ada’s score is" });
      draw(svg, "line", { x1: x(ring), x2: x(ring), y1: 24, y2: 214, class: "live-cursor" });
      const label = { x: Math.max(40, Math.min(320, x(ring))), y: 16, class: "live-label", "text-anchor": "middle" };
      draw(svg, "text", label, `Ada ${signed(ring)}`);
      values.forEach((value, k) => {
        const y = 52 + 40 * k;
        const [peg, at] = [x(value), x(ring)];
        const look = `live-${k + 1}`;
        if (strings) {
          // The string goes from the ring over the peg, and its weight hangs on the far side.
          const side = value === ring ? 0 : Math.sign(value - ring);
          draw(svg, "path", { d: path([[at, y - 6], [peg, y - 6], [peg + 6 * side, y], [peg + 6 * side, y + 14]]), class: `live-line ${look}` });
          draw(svg, "rect", { x: peg + 6 * side - 7, y: y + 14, width: 14, height: 12, rx: 2, class: `live-weight ${look}` });
        } else draw(svg, "path", { d: coil(at, peg, y), class: `live-line ${look}` });
        draw(svg, "circle", { cx: peg, cy: y, r: 6, class: `live-dot ${look}` });
        const beyond = peg < 70 ? { x: peg + 14, "text-anchor": "start" } : { x: peg - 14, "text-anchor": "end" };
        const right = peg >= 70 && value >= ring ? { x: Math.min(peg + 14, 300), "text-anchor": "start" } : beyond;
        draw(svg, "text", { ...right, y: y - 10, class: `live-label ${look}` }, FROM[k]);
        const handle = draw(svg, "circle", { cx: peg, cy: y, r: 17, class: "live-handle" });
        firm(handle).addEventListener("pointerdown", (event) => begin(event, k));
      });
      const [m, low] = [x(mean(values)), 178];
      if (strings)
        draw(svg, "path", { d: `M${m - 6} ${low - 6}L${m + 6} ${low + 6}M${m - 6} ${low + 6}L${m + 6} ${low - 6}`, class: "live-line live-cross" });
      draw(svg, "rect", { x: x(ring) - 6, y: 34, width: 12, height: 122, rx: 6, class: "live-ring" });
      const [left, right] = [values.filter((v) => v < ring - 1e-9).length, values.filter((v) => v > ring + 1e-9).length];
      const pegs = values.map((value, k) => `${FROM[k]} ${signed(value)}`).join(", ");
      const words = `Pegs: ${pegs}. ` + (strings
        ? `Weights on strings: the ring rests at the median, ${signed(ring)}, with ${left} of three pulling left and ${right} right; springs would take it to the mean, ${signed(mean(values))} (cross).`
        : `Springs: the ring rests at the mean, ${signed(ring)}; every peg that moves takes it along by a third.`);
      return { words, state: { values, kind: kind(), ring } };
    };
    const live = frame(figure, { label: "Three votes on one score", height: 252, redraw });
    read = VALUES.map((value, k) =>
      live.slider({ text: `${FROM[k]} answer`, low: LOW, high: HIGH, step: 0.01, value, show: (v) => signed(v) }));
    inputs = [...live.root.querySelectorAll("input[type=range]")];
    kind = live.choice({ text: "tied by", options: [["strings", "weights on strings (median)"], ["springs", "springs (mean)"]], value: "strings" });
    live.restart();

    // The picture is drawn anew while a peg moves, so the whole picture listens.
    const svg = live.root.querySelector("svg");
    let hand = null;
    const begin = (event, k) => {
      event.preventDefault();
      svg.setPointerCapture(event.pointerId);
      hand = k;
    };
    svg.addEventListener("pointermove", (event) => {
      if (hand === null) return;
      const box = svg.getBoundingClientRect();
      const at = LOW + ((((event.clientX - box.left) / box.width) * 360 - 16) / 328) * (HIGH - LOW);
      inputs[hand].value = at;
      inputs[hand].dispatchEvent(new Event("input"));
    });
    ["pointerup", "pointercancel"].forEach((name) => svg.addEventListener(name, () => (hand = null)));
    live.update();
  };
})();
