// Python in a thread of its own, so that the page stays alive. Messages in: start, run.
// Messages out: progress, ready (with the packages that could not be had), output (while a cell
// runs), ran, failed.
let python;
const say = (type, more = {}) => postMessage({ type, ...more });

const fetched = async (address) => {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} could not be loaded (${answer.status})`);
  return answer;
};

// Loads packages of Pyodide; returns what it says against it.
const load = async (packages) => {
  const problems = [];
  say("progress", { text: `Loading ${packages.join(", ")}` });
  await python.loadPackage(packages, {
    messageCallback: (text) => say("progress", { text }),
    errorCallback: (text) => problems.push(text),
  });
  return problems;
};

const start = async ({ index, packages, welcome, bundle, kernel }) => {
  say("progress", { text: "Loading Python" });
  const { loadPyodide } = await import(`${index}pyodide.mjs`).catch(() => {
    throw new Error(`Python could not be loaded from ${new URL(index).host}: there is no network, or it does not allow this host`);
  });
  python = await loadPyodide({ indexURL: index });
  const problems = await load(packages);
  if (problems.length) throw new Error(problems[0]);
  const lacking = [];
  for (const name of welcome) {
    const failed = await load([name]).catch((error) => [error.message]);
    if (failed.length) lacking.push(name);
  }
  say("progress", { text: "Loading the book's package" });
  python.unpackArchive(await (await fetched(bundle)).arrayBuffer(), "zip", { extractDir: "/book" });
  python.FS.writeFile("/book/page_kernel.py", await (await fetched(kernel)).text());
  python.registerJsModule("page_thread", { tell: (text) => say("output", { output: JSON.parse(text) }) });
  python.runPython("import sys; sys.path.insert(0, '/book'); import page_kernel, page_thread");
  const modules = lacking.map((name) => name.replace(/-base$/, "")); // cvxpy-base is cvxpy
  python.runPython(`page_kernel.LACKING += ${JSON.stringify(modules)}`);
  return lacking;
};

onmessage = async ({ data }) => {
  try {
    if (data.type === "start") {
      say("ready", { lacking: await start(data) });
    } else {
      // A JSON string is a Python string.
      const [source, place] = [data.source, data.place].map((text) => JSON.stringify(text));
      const answer = python.runPython(`page_kernel.run(${source}, ${place}, page_thread.tell)`);
      say("ran", { outcome: JSON.parse(answer) });
    }
  } catch (error) {
    say("failed", { text: String(error?.message ?? error) });
  }
};
