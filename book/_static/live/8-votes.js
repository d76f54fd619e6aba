// Chapter 8: what Ada's three comparisons say her score is, as three equal weights on a number line.
// At the median at most half of the weight is on either side; at the mean the line would balance.
(() => {
  const { axis, draw, firm, frame, scale, signed } = poeLive.kit;
  const { mean } = poeLive.mathematics;
  const { median } = poeLive.rails;
  const VALUES = [-0.35, 0.15, 0.15]; // of Ben's, Cleo's and Dan's comparison (chapter 8's liar)
  const FROM = ["Ben’s", "Cleo’s", "Dan’s"];
  const [LOW, HIGH] = [-1, 0.6];

  const LINE = 52; // the height of the number line

  poeLive.figures["fig-live-votes"] = (figure) => {
    let read, kind, inputs;
    const redraw = (svg) => {
      const values = read.map((one) => one());
      const laplacian = kind() === "strings";
      const [middle, balance] = [median(values), mean(values)];
      const [ring, other] = laplacian ? [middle, balance] : [balance, middle];
      const x = scale([LOW, HIGH], [16, 344]);
      axis(svg, { x, y: 214, ticks: [-1, -0.6, -0.2, 0.2, 0.6], name: "what a comparison says Ada’s score is" });
      draw(svg, "line", { x1: 16, x2: 344, y1: LINE, y2: LINE, class: "live-line live-cross" });
      const label = { x: Math.max(40, Math.min(320, x(ring))), y: 28, class: "live-label", "text-anchor": "middle" };
      draw(svg, "text", label, `Ada ${signed(ring)}`);
      const height = (k) => LINE + 46 + 42 * k;
      [2, 1, 0].forEach((k) => // the lowest weight's string runs behind the others
        draw(svg, "line", { x1: x(values[k]), x2: x(values[k]), y1: LINE, y2: height(k), class: `live-line live-${k + 1}` }));
      values.forEach((value, k) => {
        const [at, y, look] = [x(value), height(k), `live-${k + 1}`];
        draw(svg, "rect", { x: at - 9, y: y - 8, width: 18, height: 16, rx: 2, class: `live-weight ${look}` });
        const beside = at < 280 ? { x: at + 15, "text-anchor": "start" } : { x: at - 15, "text-anchor": "end" };
        draw(svg, "text", { ...beside, y: y + 5, class: `live-label ${look}` }, FROM[k]);
        const handle = draw(svg, "circle", { cx: at, cy: y, r: 17, class: "live-handle" });
        firm(handle).addEventListener("pointerdown", (event) => begin(event, k));
      });
      draw(svg, "circle", { cx: x(other), cy: LINE, r: 9, class: "live-ring live-dashed" });
      draw(svg, "circle", { cx: x(ring), cy: LINE, r: 9, class: "live-ring" });
      const [left, right] = [values.filter((v) => v < middle - 1e-9).length, values.filter((v) => v > middle + 1e-9).length];
      const weights = values.map((value, k) => `${FROM[k]} ${signed(value)}`).join(", ");
      const words = `Values: ${weights}. ` + (laplacian
        ? `Laplacian experts put Ada at the median, ${signed(middle)}, with ${left} of three to its left and ${right} to its right; the mean is ${signed(balance)}.`
        : `Gaussian experts put Ada at the mean, ${signed(balance)}, which every weight that moves takes along by a third; the median is ${signed(middle)}.`);
      return { words, state: { values, kind: kind(), ring } };
    };
    const live = frame(figure, { label: "Three values of one score", height: 252, redraw });
    read = VALUES.map((value, k) =>
      live.slider({ text: `${FROM[k]} answer`, low: LOW, high: HIGH, step: 0.01, value, show: (v) => signed(v) }));
    inputs = [...live.root.querySelectorAll("input[type=range]")];
    kind = live.choice({ text: "Ada’s score", options: [["strings", "Laplacian (median)"], ["springs", "Gaussian (mean)"]], value: "strings" });
    live.restart();

    // The picture is drawn anew while a weight moves, so the whole picture listens.
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
