// The rails: scores as four rails that can be grabbed, answers as vertical springs between them.
// One instrument for the front page and chapters 5, 7 and 8. What it computes is in 1-rails.js.
//
// The picture is built once and then only moved, so that a rail in the hand stays in the hand.
(() => {
  const { EXAMPLE, NAMES, draw, firm, fixed, html, inOrder, pairName, path, signed } = poeLive.kit;
  const { EXPERTS, solve, stepped, strain } = poeLive.rails;

  const N = NAMES.slice(0, 4).length;
  const [LEFT, RIGHT, TOP, BOTTOM] = [62, 332, 42, 300];
  const COLUMNS = EXAMPLE.map((_, k) => 92 + 53 * k);
  const GRIP = { width: 46, height: 28 }; // 24 pixels and more on a phone
  // Half the height of the picture in scores, and the most of energy and force that are drawn.
  const LOOKS = {
    gaussian: { name: "Gaussian (springs)", reach: 0.5, energy: 0.5, force: 0.6, unit: "" },
    "bradley-terry": { name: "soft Bradley-Terry", reach: 2.2, energy: 1.2, force: 0.8, unit: " logits" },
    laplacian: { name: "Laplacian (constant)", reach: 0.5, energy: 2.5, force: 1, unit: "" },
  };
  const LOGITS = 4; // near zero a Gaussian score is worth four times as many logits
  const CALM = window.matchMedia("(prefers-reduced-motion: reduce)");

  // From one end to the other, sideways by as much as fits.
  const coil = (x, from, to) => {
    const bends = Array.from({ length: 15 }, (_, k) => [0.12 + (0.76 * k) / 14, k % 2 ? 6 : -6]);
    return path([[0, 0], [0.1, 0], ...bends, [0.9, 0], [1, 0]].map(([t, off]) => [x + off, from + t * (to - from)]));
  };
  const string = (x, from, to) => path([[x, from], [x, to]]);

  // Name tags that would lie on each other move apart; the middle of each heap stays.
  const spread = (heights, least) => {
    const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
    const at = [...heights];
    for (let sweep = 0; sweep < 60; sweep++) {
      for (let k = 1; k < order.length; k++) {
        const [a, b] = [order[k - 1], order[k]];
        const short = least - (at[b] - at[a]);
        if (short > 0) {
          at[a] -= short / 2;
          at[b] += short / 2;
        }
      }
    }
    return at;
  };

  // A figure's state in the address: #fig-live-springs--gaussian_90_60_80_30_70_at_20_m5_0_m15.
  const percent = (v) => Math.round(v * 100);
  const toWords = ({ expert, answers, held }) => [expert, ...answers.map(percent), ...(held ? ["at", ...held.map(percent)] : [])];
  const fromWords = (words) => {
    if (!words) return null;
    const [expert, ...rest] = words;
    const read = (text) => poeLive.address.number(text) / 100;
    const answers = rest.slice(0, EXAMPLE.length).map(read);
    const held = rest[EXAMPLE.length] === "at" ? rest.slice(EXAMPLE.length + 1).map(read) : null;
    const good = (values, low, high) => values.every((v) => v >= low && v <= high);
    if (!EXPERTS[expert] || answers.length !== EXAMPLE.length || !good(answers, 0.02, 0.98)) return null;
    if (held && (held.length !== N || !good(held, -3, 3))) return null;
    return { expert, answers, held };
  };

  const rails = (figure, { front = false, start = "gaussian", keep = false } = {}) => {
    const still = figure.querySelector("img");
    const whole = still.closest("a") || still;
    const root = html("div", { class: "live live-rails", role: "group", "aria-label": "Four scores as rails, five answers as springs" });
    whole.after(root);
    whole.hidden = !keep;

    let expert = start;
    let answers = EXAMPLE.map(({ p }) => p);
    let column = EXAMPLE.length - 1; // the answer whose slider is shown
    let shown = null; // heights on the screen
    let held = false; // rails stay where they were put
    let grabbed = null; // the rail in the hand
    let turn = 0; // whose step is next
    let touched = false;
    let frame = 0;
    let speed = Array(N).fill(0);

    const comparisons = () => EXAMPLE.map((pair, k) => ({ ...pair, p: answers[k] }));
    const target = () => solve(expert, N, comparisons());
    const look = () => LOOKS[expert];
    const reach = () => look().reach;
    const y = (score) => TOP + ((reach() - score) / (2 * reach())) * (BOTTOM - TOP);
    const scoreAt = (height) => reach() - ((height - TOP) / (BOTTOM - TOP)) * 2 * reach();
    const within = (score) => Math.max(-reach(), Math.min(reach(), score));

    // ---- The picture ------------------------------------------------------------------------
    const board = html("div", { class: "live-board" }, root);
    const legend = html("p", { class: "live-legend" }, root);
    ["stretched", "squeezed"].forEach((how) => html("span", { class: `live-${how}` }, legend, how));
    html("span", {}, legend, "ring: wanted");
    const says = html("p", { class: "live-says", id: `${figure.id}-says`, "aria-live": "polite" }, root);
    const height = front ? 376 : 394;
    const svg = draw(board, "svg", { viewBox: `0 0 360 ${height}`, role: "group", "aria-labelledby": says.id, class: "live-main" });
    const hidden = { "aria-hidden": "true" };

    draw(svg, "text", { x: 4, y: 16, class: "live-name", ...hidden }, "energy");
    draw(svg, "rect", { x: 62, y: 6, width: 208, height: 12, class: "live-trough", ...hidden });
    const bar = draw(svg, "rect", { x: 62, y: 6, width: 0, height: 12, class: "live-energy", ...hidden });
    const floor = draw(svg, "line", { y1: 2, y2: 22, class: "live-floor", ...hidden });
    const joules = draw(svg, "text", { x: 276, y: 16, class: "live-number", ...hidden });
    const zero = draw(svg, "line", { x1: LEFT, x2: RIGHT, class: "live-rule", ...hidden });

    const columns = EXAMPLE.map(({ first, second }, k) => {
      const x = COLUMNS[k];
      const lit = draw(svg, "rect", { x: x - 24, y: 28, width: 51, height: height - 32, rx: 4, class: "live-lit" });
      return { first, second, x, lit };
    });
    const lines = NAMES.slice(0, N).map((_, i) => ({
      leader: draw(svg, "line", { x1: GRIP.width + 2, x2: LEFT, class: `live-leader live-${i}`, ...hidden }),
      line: draw(svg, "line", { x1: LEFT, x2: RIGHT, class: `live-rail live-${i}`, ...hidden }),
      wide: draw(svg, "line", { x1: LEFT, x2: RIGHT, class: "live-grab", ...hidden }),
      arrow: draw(svg, "path", { class: `live-force live-${i}`, ...hidden }),
    }));
    columns.forEach((one) => {
      one.ghost = draw(svg, "path", { class: "live-ghost", ...hidden });
      one.spring = draw(svg, "path", { class: "live-coil", ...hidden });
      one.foot = draw(svg, "circle", { r: 3, cx: one.x, class: `live-dot live-${one.second}`, ...hidden });
      one.head = draw(svg, "circle", { r: 4.5, cx: one.x, class: `live-dot live-${one.first}`, ...hidden });
      one.wish = draw(svg, "circle", { r: 4.5, cx: one.x + 15, class: "live-hollow", ...hidden });
      one.wishGrab = draw(svg, "circle", { r: 13, cx: one.x + 15, class: "live-handle", ...hidden });
    });

    // The table below the springs: a column each, whose head opens its slider.
    const rows = [["wants", 352], ["gets", 370], ...(front ? [] : [["force", 388]])];
    const names = rows.map(([text, at]) => draw(svg, "text", { x: 4, y: at, class: "live-name", ...hidden }, text));
    draw(svg, "text", { x: 4, y: 334, class: "live-name", ...hidden }, "over");
    columns.forEach((one, k) => {
      const middle = { x: one.x + 2, "text-anchor": "middle" };
      draw(svg, "text", { ...middle, y: 318, class: `live-label live-${one.first}`, ...hidden }, NAMES[one.first]);
      draw(svg, "text", { ...middle, y: 334, class: `live-label live-${one.second}`, ...hidden }, NAMES[one.second]);
      one.cells = rows.map(([, at]) => draw(svg, "text", { ...middle, y: at, class: "live-number", ...hidden }));
      const words = `Change the answer for ${pairName(one)}`;
      one.open = draw(svg, "rect", {
        x: one.x - 24, y: 304, width: 51, height: height - 306, rx: 4, class: "live-open",
        role: "button", tabindex: 0, "aria-label": words, "aria-pressed": "false",
      });
      one.open.addEventListener("click", () => choose(k));
      one.open.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(k);
      });
    });
    lines.forEach((one, i) => {
      one.grip = draw(svg, "g", {
        class: `live-grip live-${i}`, tabindex: 0, role: "slider", "aria-orientation": "vertical", "aria-label": `${NAMES[i]}’s score`,
      });
      draw(one.grip, "rect", { x: 2, y: -GRIP.height / 2, ...GRIP, rx: 5 });
      draw(one.grip, "text", { x: 2 + GRIP.width / 2, y: 4.5, "text-anchor": "middle", class: "live-label live-on" }, NAMES[i]);
    });

    // ---- The expert's curve -----------------------------------------------------------------
    const side = html("div", { class: "live-side" }, board);
    const inset = front ? null : draw(side, "svg", { viewBox: "0 0 240 176", class: "live-inset", ...hidden });
    const IX = (m) => 120 + Math.max(-1, Math.min(1, m / (1.1 * reach()))) * 106;
    const IY = (f) => 84 - (f / look().force) * 60;
    let curves = [], dots = [];
    const drawInset = () => {
      inset.replaceChildren();
      draw(inset, "line", { x1: 14, x2: 226, y1: 84, y2: 84, class: "live-rule" });
      draw(inset, "line", { x1: 120, x2: 120, y1: 18, y2: 152, class: "live-rule" });
      draw(inset, "text", { x: 120, y: 12, class: "live-name", "text-anchor": "middle" }, "force on the first text");
      draw(inset, "text", { x: 120, y: 170, class: "live-name", "text-anchor": "middle" }, "misfit: gets minus wants");
      curves = EXAMPLE.map((_, k) => draw(inset, "path", { class: `live-curve${k === column ? " live-chosen" : ""}` }));
      dots = EXAMPLE.map(() => draw(inset, "circle", { r: 5, class: "live-bead" }));
    };

    // ---- Below it: one slider, the choice of expert, buttons --------------------------------
    const controls = html("div", { class: "live-controls" }, side);
    const row = html("label", { class: "live-slider" }, controls);
    const rowName = html("span", {}, row);
    const input = html("input", { type: "range", min: 0.02, max: 0.98, step: 0.01 }, row);
    const output = html("output", {}, row);
    input.addEventListener("input", () => {
      answers[column] = Number(input.value);
      change();
    });
    let select = null;
    if (!front) {
      const label = html("label", { class: "live-choice" }, controls);
      html("span", {}, label, "experts");
      select = html("select", {}, label);
      Object.entries(LOOKS).forEach(([key, { name }]) => html("option", { value: key }, select, name));
      select.value = expert;
      select.addEventListener("change", () => {
        const [before, now] = [LOOKS[expert].reach, LOOKS[select.value].reach];
        expert = select.value;
        shown = shown.map((s) => (s * now) / before); // the same place on the screen
        change();
      });
    }
    const button = (text, action) => {
      const press = html("button", { type: "button" }, controls, text);
      press.addEventListener("click", action);
      return press;
    };
    const lift = front ? null : button("Level all", () => {
      hold();
      turn = 0;
      glide(Array(N).fill(0));
    });
    const step = front ? null : button("One step", () => {
      hold();
      const scores = [...goal];
      scores[turn] = within(stepped(expert, comparisons(), scores, turn));
      turn = (turn + 1) % N;
      const middle = scores.reduce((sum, score) => sum + score, 0) / N;
      glide(scores.map((score) => within(score - middle))); // nobody notices a common shift
    });
    const release = button("Let go", () => letGo());
    const again = button("Start again", () => {
      expert = start;
      answers = EXAMPLE.map(({ p }) => p);
      column = EXAMPLE.length - 1;
      turn = 0;
      if (select) select.value = start;
      touched = false;
      held = false;
      shown = target();
      address.clear();
      change({ quiet: true });
    });
    const address = poeLive.address.keeper(figure.id, () => toWords({ expert, answers, held: held ? goal : null }));
    if (!front) poeLive.address.copy(html("button", { type: "button" }, controls, "Copy link"), address.save);

    // ---- Moving -----------------------------------------------------------------------------
    let goal = target(); // where the rails are going
    const hold = () => (held = true);
    const letGo = () => {
      held = false;
      grabbed = null;
      change();
    };
    const glide = (scores) => {
      goal = [...scores];
      touched = true;
      settle();
      tell();
    };
    const settle = () => {
      cancelAnimationFrame(frame);
      if (CALM.matches) {
        shown = [...goal];
        speed.fill(0);
      }
      const rest = shown.every((s, i) => Math.abs(s - goal[i]) + Math.abs(speed[i]) < 1e-3 * reach());
      if (rest) {
        shown = [...goal];
        speed.fill(0);
      }
      paint();
      if (rest) return;
      frame = requestAnimationFrame(() => {
        // A damped spring, a sixtieth of a second at a time.
        shown = shown.map((s, i) => {
          if (i === grabbed) return s;
          speed[i] = 0.82 * speed[i] + 0.06 * (goal[i] - s);
          return s + speed[i];
        });
        settle();
      });
    };

    const arrow = (x, from, force) => {
      const size = Math.max(-1, Math.min(1, force / look().force)) * 54;
      if (Math.abs(size) < 0.8) return "";
      const to = from - size;
      const back = to + Math.sign(size) * Math.min(7, Math.abs(size));
      return `M${x},${from}L${x},${to}M${x - 4.5},${back}L${x},${to}L${x + 4.5},${back}`;
    };
    const energyWidth = (e) => 208 * Math.min(1, Math.max(0, e) / look().energy);

    const paint = () => {
      const asked = comparisons();
      const now = strain(expert, asked, shown);
      const best = strain(expert, asked, target()).energy;
      bar.setAttribute("width", energyWidth(now.energy));
      floor.setAttribute("x1", 62 + energyWidth(best));
      floor.setAttribute("x2", 62 + energyWidth(best));
      joules.textContent = fixed(now.energy, 3);
      zero.setAttribute("y1", y(0));
      zero.setAttribute("y2", y(0));
      const tags = spread(shown.map((s) => y(within(s))), GRIP.height + 1);
      lines.forEach(({ line, wide, leader, arrow: force, grip }, i) => {
        const at = y(within(shown[i]));
        [line, wide].forEach((one) => {
          one.setAttribute("y1", at);
          one.setAttribute("y2", at);
        });
        leader.setAttribute("y1", tags[i]);
        leader.setAttribute("y2", at);
        force.setAttribute("d", arrow(337 + 6 * i, at, now.net[i]));
        grip.setAttribute("transform", `translate(0 ${tags[i].toFixed(2)})`);
        grip.setAttribute("aria-valuemin", -reach());
        grip.setAttribute("aria-valuemax", reach());
        grip.setAttribute("aria-valuenow", shown[i].toFixed(2));
        const pulled = Math.abs(now.net[i]) < 5e-3 ? "no net force" : `pulled ${now.net[i] > 0 ? "up" : "down"} with ${fixed(Math.abs(now.net[i]))}`;
        grip.setAttribute("aria-valuetext", `${signed(shown[i])}${look().unit}, ${pulled}`);
      });
      columns.forEach((one, k) => {
        const [top, bottom] = [y(within(shown[one.first])), y(within(shown[one.second]))];
        const wish = y(within(shown[one.second] + now.wants[k]));
        const misfit = now.gets[k] - now.wants[k];
        const far = Math.abs(misfit) < 0.01 * reach() ? "rest" : misfit * Math.sign(now.wants[k] || 1) > 0 ? "stretched" : "squeezed";
        const shape = expert === "laplacian" ? string : coil;
        one.spring.setAttribute("d", shape(one.x, bottom, top));
        one.spring.setAttribute("class", `live-coil live-${far}`);
        const width = expert === "bradley-terry" ? 0.6 + 12 * Math.max(0, now.stiffness[k] - 0.05) : 2;
        one.spring.setAttribute("style", `stroke-width: ${width.toFixed(2)}`);
        one.head.setAttribute("cy", top);
        one.foot.setAttribute("cy", bottom);
        one.ghost.setAttribute("d", `M${one.x + 10},${bottom}L${one.x + 20},${bottom}M${one.x + 15},${bottom}L${one.x + 15},${wish}M${one.x + 10},${wish}L${one.x + 20},${wish}`);
        one.wish.setAttribute("cy", wish);
        one.wishGrab.setAttribute("cy", wish);
        one.lit.classList.toggle("live-chosen", k === column);
        one.open.setAttribute("aria-pressed", k === column);
        const third = expert === "bradley-terry" ? fixed(now.stiffness[k]) : signed(now.forces[k]);
        [signed(now.wants[k]), signed(now.gets[k]), third].forEach((text, r) => {
          if (one.cells[r]) one.cells[r].textContent = text;
        });
      });
      if (names[2]) names[2].textContent = expert === "bradley-terry" ? "stiffness" : "force";
      if (inset) {
        EXAMPLE.forEach((_, k) => {
          const p = answers[k];
          const wanted = now.wants[k];
          const grid = Array.from({ length: 121 }, (_, g) => (g - 60) * (1.1 * reach()) / 60);
          curves[k].setAttribute("d", path(grid.map((m) => [IX(m), IY(EXPERTS[expert].force(wanted + m, p))])));
          curves[k].setAttribute("class", `live-curve${k === column ? " live-chosen" : ""}`);
          dots[k].setAttribute("cx", IX(now.gets[k] - wanted));
          dots[k].setAttribute("cy", IY(now.forces[k]));
          dots[k].setAttribute("class", `live-bead${k === column ? " live-chosen" : ""}`);
        });
      }
    };

    // In words, and for the tests and the address: where the rails are going.
    const tell = () => {
      const asked = comparisons();
      const scores = [...goal];
      const now = strain(expert, asked, scores);
      rowName.textContent = `P(${pairName(EXAMPLE[column])})`;
      input.value = answers[column];
      output.textContent = fixed(answers[column]);
      input.setAttribute("aria-valuetext", output.textContent);
      release.disabled = !held;
      const listed = scores.map((s, i) => `${NAMES[i]} ${signed(s)}${expert === "bradley-terry" ? ` (÷ 4: ${signed(s / LOGITS)})` : ""}`).join(", ");
      const order = inOrder(scores);
      let words = `Ranking: ${order}. Scores: ${listed}. Energy ${fixed(now.energy, 3)}`;
      if (held) {
        const hardest = now.net.map((f, i) => i).sort((a, b) => Math.abs(now.net[b]) - Math.abs(now.net[a]))[0];
        const force = Math.abs(now.net[hardest]);
        words += force < 5e-3
          ? ", and no net force is left on any rail."
          : `; the largest net force, ${fixed(force)}, pulls ${NAMES[hardest]} ${now.net[hardest] > 0 ? "up" : "down"}.`;
      } else words += ", the minimum.";
      if (says.textContent !== words) says.textContent = words;
      root.dataset.state = JSON.stringify({ comparisons: asked, expert, scores, held, energy: now.energy, net: now.net, gets: now.gets, wants: now.wants });
      if (touched) address.soon();
    };

    const change = ({ quiet = false } = {}) => {
      if (!quiet) touched = true;
      if (!held) goal = target();
      settle();
      tell();
    };
    const choose = (k) => {
      column = k;
      change({ quiet: true });
    };

    // ---- Hands ------------------------------------------------------------------------------
    const scoreUnder = (event) => {
      const box = svg.getBoundingClientRect();
      return scoreAt(((event.clientY - box.top) / box.height) * height);
    };
    const drag = (element, begin, move, end) => {
      let offset = null;
      firm(element).addEventListener("pointerdown", (event) => {
        if (event.button) return;
        event.preventDefault();
        element.setPointerCapture(event.pointerId);
        offset = begin() - scoreUnder(event);
      });
      element.addEventListener("pointermove", (event) => {
        if (offset !== null) move(scoreUnder(event) + offset);
      });
      const done = () => {
        if (offset === null) return;
        offset = null;
        end();
      };
      element.addEventListener("pointerup", done);
      element.addEventListener("pointercancel", done);
    };
    lines.forEach(({ grip, wide }, i) => {
      let before = false;
      [grip, wide].forEach((element) => drag(element, () => {
        cancelAnimationFrame(frame);
        before = held; // rails that were held before stay where the hand leaves them
        grabbed = i;
        goal = [...shown];
        speed.fill(0);
        hold();
        if (element === grip) grip.focus({ preventScroll: true });
        return shown[i];
      }, (score) => {
        shown[i] = goal[i] = within(score);
        touched = true;
        paint();
        tell();
      }, () => {
        grabbed = null;
        if (!before) letGo();
        else change();
      }));
      grip.addEventListener("keydown", (event) => {
        const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
        if (event.key === "Escape") return letGo();
        const end = { Home: -reach(), End: reach() }[event.key];
        if (by === undefined && end === undefined) return undefined;
        event.preventDefault();
        hold();
        const scores = [...goal];
        scores[i] = within(end ?? scores[i] + (by * reach()) / 70);
        shown[i] = scores[i];
        glide(scores);
        return undefined;
      });
    });
    // The ring at the end of a ghost is the answer itself.
    columns.forEach((one, k) => drag(one.wishGrab, () => {
      column = k;
      const { wants } = strain(expert, comparisons(), shown);
      return shown[one.second] + wants[k];
    }, (score) => {
      const wanted = score - shown[one.second];
      const p = expert === "bradley-terry" ? poeLive.mathematics.sigmoid(wanted) : wanted + 0.5;
      answers[k] = Math.round(100 * Math.max(0.02, Math.min(0.98, p))) / 100;
      change();
    }, () => change()));

    // ---- The address ------------------------------------------------------------------------
    const restore = () => {
      const state = fromWords(address.read());
      if (!state) return false;
      ({ expert, answers } = state);
      if (front && expert !== start) expert = start;
      if (select) select.value = expert;
      held = Boolean(state.held);
      goal = state.held ?? target();
      shown = [...goal];
      figure.scrollIntoView();
      return true;
    };
    window.addEventListener("hashchange", () => restore() && change({ quiet: true }));

    shown = front && !CALM.matches ? Array(N).fill(0) : target();
    if (inset) drawInset();
    restore();
    change({ quiet: true });
  };

  poeLive.figures["fig-live-front"] = (figure) => rails(figure, { front: true });
  poeLive.figures["fig-live-springs"] = (figure) => rails(figure);
  poeLive.figures["fig-live-springs-soft"] = (figure) => rails(figure, { start: "bradley-terry" });
  poeLive.figures["fig-live-springs-laplacian"] = (figure) => rails(figure, { start: "laplacian", keep: true });
})();
