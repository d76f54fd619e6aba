// What a narrow screen needs. For formulas an observer, because solutions open, windows turn and typesetting
// takes time; in the next frame, because what is measured must not change while it is observed.
(() => {
  const ROOM = 40; // pixels for brackets and full stops beside a formula that is kept with them
  const SMALLEST = 0.7; // of its size, to which a displayed formula shrinks before it scrolls

  // A formula in a sentence cannot be broken into lines: a wide one scrolls inside itself.
  const fitInline = (formula) => {
    const block = formula.closest("p, li, td, th, dd, dt, figcaption, h1, h2, h3, div");
    const natural = formula.firstElementChild.getBoundingClientRect().width;
    formula.classList.toggle("jc-wide", natural > block.clientWidth);
    const kept = formula.closest(".jc-kept");
    kept?.classList.toggle("jc-whole", natural < block.clientWidth - ROOM);
  };

  const fitDisplayed = (formula) => {
    formula.dataset.size ??= formula.style.fontSize;
    formula.style.fontSize = formula.dataset.size;
    const share = formula.clientWidth / formula.scrollWidth;
    if (!(share < 1)) return;
    const size = parseFloat(getComputedStyle(formula).fontSize);
    formula.style.fontSize = `${(size * Math.max(SMALLEST, 0.985 * share)).toFixed(2)}px`;
  };

  const fit = (formula) =>
    formula.getAttribute("display") === "true" ? fitDisplayed(formula) : fitInline(formula);

  // A browser may break the line on either side of a formula; not before its full stop.
  const keepPunctuation = (formula) => {
    const math = formula.closest("span.math") ?? formula;
    const cut = (text, pattern) => {
      const found = text?.nodeType === Node.TEXT_NODE ? pattern.exec(text.data)?.[0] : null;
      if (found) text.data = text.data.replace(pattern, "");
      return found ?? "";
    };
    const before = cut(math.previousSibling, /[([‘“]$/);
    const after = cut(math.nextSibling, /^\S{1,4}(?=\s|$)/);
    if (!before && !after) return;
    const kept = document.createElement("span");
    kept.className = "jc-kept";
    math.before(kept);
    kept.append(before, math, after);
  };

  window.addEventListener("load", async () => {
    // Names such as Mistral-7B stay in one line; longer headings may break.
    for (const head of document.querySelectorAll("article table.dataframe tbody th")) {
      head.classList.toggle("jc-short", head.textContent.trim().length < 15);
    }
    if (!window.MathJax?.startup) return;
    await MathJax.startup.promise;
    const formulas = [...document.querySelectorAll("article mjx-container")];
    const widths = new Map();
    const watch = new ResizeObserver((seen) =>
      requestAnimationFrame(() => {
        for (const { target, contentRect } of seen) {
          if (widths.get(target) === contentRect.width) continue;
          widths.set(target, contentRect.width);
          fit(target);
        }
      }));
    for (const formula of formulas) {
      if (formula.getAttribute("display") !== "true") keepPunctuation(formula);
      fit(formula);
      watch.observe(formula);
    }
    window.addEventListener("resize", () => formulas.forEach(fit));
  });
})();
