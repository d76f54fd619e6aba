// The live figure of chapter 5: three answers about one difference, their product and their mixture.
(() => {
  const { axis, draw, fixed, frame, path, scale, signed } = poeLive.kit;
  const { mean, sigmoid } = poeLive.mathematics;
  const SD = 0.2; // of a Gaussian expert on the scale of opinions

  // An expert's mean and variance, the logarithm of its density but for a constant, and the range shown.
  const EXPERTS = {
    gaussian: {
      reach: 1.2, ticks: [-1, -0.5, 0, 0.5, 1], mean: (p) => p - 0.5, variance: () => SD ** 2,
      log: (d, p) => -((d - p + 0.5) ** 2) / (2 * SD ** 2),
    },
    "bradley-terry": { // the moments of book exercise 5.2
      reach: 8, ticks: [-8, -4, 0, 4, 8], mean: (p) => -Math.PI / Math.tan(Math.PI * p),
      variance: (p) => (Math.PI / Math.sin(Math.PI * p)) ** 2,
      log: (d, p) => p * Math.log(sigmoid(d)) + (1 - p) * Math.log(sigmoid(-d)),
    },
  };
  const POINTS = 8000;

  // A density from its logarithm: what it is at d, its mean and its standard deviation.
  const normalised = (log, reach) => {
    const far = 20 * reach;
    const step = (2 * far) / POINTS;
    const grid = Array.from({ length: POINTS + 1 }, (_, k) => -far + k * step);
    const weights = grid.map((d) => Math.exp(log(d)));
    const total = weights.reduce((sum, w) => sum + w, 0);
    const middle = grid.reduce((sum, d, k) => sum + d * weights[k], 0) / total;
    const variance = grid.reduce((sum, d, k) => sum + (d - middle) ** 2 * weights[k], 0) / total;
    return { at: (d) => Math.exp(log(d)) / (total * step), mean: middle, sd: Math.sqrt(variance) };
  };

  poeLive.figures["fig-live-pool"] = (figure) => {
    let answers, expert;
    const redraw = (svg) => {
      const said = answers.map((read) => read());
      const { reach, ticks, log, ...moments } = EXPERTS[expert()];
      const product = normalised((d) => said.reduce((sum, p) => sum + log(d, p), 0), reach);
      const experts = said.map((p) => normalised((d) => log(d, p), reach));
      const middle = mean(said.map(moments.mean));
      const scatter = mean(said.map((p) => moments.variance(p) + (moments.mean(p) - middle) ** 2));
      const mixture = { at: (d) => mean(experts.map(({ at }) => at(d))), mean: middle, sd: Math.sqrt(scatter) };
      const x = scale([-reach, reach], [10, 350]);
      const grid = Array.from({ length: 241 }, (_, k) => reach * (k / 120 - 1));
      const y = scale([0, Math.max(...grid.map(product.at))], [160, 16]);
      const curve = ({ at }, look) =>
        draw(svg, "path", { d: path(grid.map((d) => [x(d), y(at(d))])), class: `live-line ${look}` });
      experts.forEach((one) => curve(one, "live-cross live-thin"));
      curve(mixture, "live-dashed live-1");
      curve(product, "live-0");
      draw(svg, "line", { x1: 10, x2: 350, y1: 160, y2: 160, class: "live-rule" });
      [["product", product, 0, 178], ["mixture", mixture, 1, 200]].forEach(([name, { mean: at, sd }, look, top]) => {
        draw(svg, "line", { x1: x(at - sd), x2: x(at + sd), y1: top, y2: top, class: `live-bar live-${look}` });
        draw(svg, "circle", { cx: x(at), cy: top, r: 4.5, class: `live-dot live-${look}` });
        draw(svg, "text", { x: 10, y: look ? 40 : 20, class: `live-label live-${look}` }, `${name} ± ${fixed(sd)}`);
      });
      axis(svg, { x, y: 214, ticks, digits: reach > 2 ? 0 : 1, name: "score difference d" });
      const rule = expert() === "gaussian"
        ? "No answer changes the width of this product."
        : "This product is narrowest where the mean answer is one half.";
      const words = `The product stands at ${signed(product.mean)} ± ${fixed(product.sd)}, the mixture at ${signed(mixture.mean)} ± ${fixed(mixture.sd)}. ${rule}`;
      const moment = ({ mean: at, sd }) => [at, sd];
      return { words, state: { answers: said, expert: expert(), product: moment(product), mixture: moment(mixture) } };
    };
    const live = frame(figure, { label: "A product of three experts, and a mixture", height: 250, redraw });
    answers = [0.9, 0.7, 0.3].map((value, k) =>
      live.slider({ text: `answer ${k + 1}`, low: 0.05, high: 0.95, step: 0.01, value }));
    expert = live.choice({
      text: "experts", value: "gaussian",
      options: [["gaussian", "Gaussian"], ["bradley-terry", "soft Bradley-Terry"]],
    });
    live.restart();
    live.update();
  };
})();
