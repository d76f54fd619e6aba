// A formula in a sentence cannot be broken into lines, so on a narrow screen it
// may be wider than its paragraph. Let such a formula scroll inside itself.
// An observer, because solutions open, windows turn and typesetting takes time.
(() => {
  const fit = (formula) => {
    const block = formula.closest("p, li, td, th, dd, dt, figcaption, h1, h2, h3, div");
    const natural = formula.firstElementChild.getBoundingClientRect().width;
    formula.classList.toggle("jc-wide", natural > block.clientWidth);
  };
  window.addEventListener("load", async () => {
    if (!window.MathJax?.startup) return;
    await MathJax.startup.promise;
    const formulas = document.querySelectorAll('article mjx-container:not([display="true"])');
    const watch = new ResizeObserver((seen) => seen.forEach(({ target }) => fit(target)));
    formulas.forEach((formula) => watch.observe(formula));
    window.addEventListener("resize", () => formulas.forEach(fit));
  });
})();
