// Faults that are set, what they hit and why one did not; and the form that sets one.

import { Problem } from "./api.js";
import { inject, removeFault } from "./actions.js";
import { byId, make, reconcile, setAttribute, setText } from "./dom.js";
import { byName, count, name } from "./format.js";
import { button, rowsLink, setRowsLink } from "./parts.js";
import { state, watch } from "./store.js";

const form = byId("fault-form");

export function start() {
  watch(["faults"], draw, 100);
  watch(["names", "cluster", "topics"], drawChoices, 1000);
  byId("inject").addEventListener("click", () => toggle(form.hidden));
  byId("fault-cancel").addEventListener("click", () => toggle(false));
  form.addEventListener("keydown", ({ key }) => key === "Escape" && toggle(false));
  form.addEventListener("change", showFields);
  form.addEventListener("submit", submit);
}

function draw() {
  reconcile(byId("faults-table").tBodies[0], state.faults, (fault) => fault.id, create, update);
  setText(byId("faults-note"), state.faults.length === 0 ? "None is set." : "");
  byId("faults-table").hidden = state.faults.length === 0;
}

function create({ id }) {
  const row = { title: make("b"), words: make("div"), why: make("div", { class: "soft why" }) };
  row.matched = make("td", { class: "number" });
  row.fired = rowsLink("", {});
  row.node = make(
    "tr",
    {},
    make("th", { scope: "row" }, name(id)),
    make("td", { class: "reason" }, row.words, row.why),
    row.matched,
    make("td", { class: "number" }, row.fired),
    make(
      "td",
      {},
      button("Remove", `fault ${name(id)}`, () => removeFault(id)),
    ),
  );
  return row;
}

function update(row, fault) {
  setText(row.words, sentence(fault));
  setText(row.why, fault.explanation ?? "");
  setText(row.matched, count(fault.matched ?? 0));
  setRowsLink(
    row.fired,
    count(fault.fired ?? 0),
    { fault: fault.id },
    `fired ${count(fault.fired ?? 0)}: the requests that ${name(fault.id)} hit`,
  );
  setAttribute(row.node, "data-fired", (fault.fired ?? 0) > 0);
}

const EFFECTS = {
  error: (value) => `answers ${value}`,
  delay_ms: (value, effect) => `delays by ${value} ms${effect.jitter_ms ? ` ± ${effect.jitter_ms} ms` : ""}`,
  disconnect: () => "disconnects",
  silence: () => "never answers",
  throttle_ms: (value) => `throttles by ${value} ms`,
  bandwidth: (value) => `lets ${value} through`,
  cut: () => "cuts the link",
};
const WHENS = {
  times: (value) => `the first ${value === 1 ? "time" : `${value} times`}`,
  on_call: (value) => `at call ${value} only`,
  every: (value) => `at every ${value}th call`,
  probability: (value) => `with probability ${value}`,
};

/** A fault in words: what it does, to whom, when. */
export function sentence({ match = {}, link = match?.link, effect = {}, when = {} }) {
  const does = Object.keys(EFFECTS)
    .filter((key) => effect[key] !== undefined)
    .map((key) => EFFECTS[key](effect[key], effect));
  const between = link?.between
    ? `between ${link.between
        .flat()
        .map((rack) => name(rack))
        .join(" and ")}`
    : link
      ? `from ${name(link.from)} to ${name(link.to)}`
      : "";
  const to = Object.entries(match ?? {})
    .filter(([key, value]) => key !== "link" && value !== null)
    .map(
      ([key, value]) =>
        `${key.replaceAll("_", " ")} ${[value]
          .flat()
          .map((one) => name(one))
          .join(" or ")}`,
    );
  const whens = Object.entries(when ?? {})
    .filter(([, value]) => value !== null)
    .map(([key, value]) => WHENS[key]?.(value) ?? `${key} ${value}`);
  return [`${does.join(", ")} ${between}`.trim(), to.join(", "), whens.join(", ") || "always"]
    .filter(Boolean)
    .join("; ");
}

function toggle(isOpen) {
  form.hidden = !isOpen;
  setAttribute(byId("inject"), "aria-expanded", String(isOpen));
  setText(byId("fault-problem"), "");
  (isOpen ? form.elements.effect : byId("inject")).focus();
}

/** Only what belongs to the chosen effect and moment is asked. */
function showFields() {
  const effect = form.elements.effect.value;
  form.elements.error.closest("label").hidden = effect !== "error";
  form.elements.ms.closest("label").hidden = !effect.endsWith("_ms");
  form.elements.when_value.closest("label").hidden = form.elements.when.value === "";
}

function drawChoices() {
  fill(byId("error-names"), state.names.errors, (one) => make("option", { value: one }));
  fill(byId("api-names"), state.names.apis, (one) => make("option", { value: one }));
  fill(
    byId("topic-names"),
    state.topics.slice(0, 200).map((topic) => topic.name),
    (one) => make("option", { value: one }),
  );
  const racks = Object.keys(state.cluster?.racks ?? {}).sort(byName);
  for (const select of [form.elements.rack, form.elements.client_rack]) {
    fill(select, ["", ...racks], (one) => make("option", { value: one }, one === "" ? "any" : name(one)));
  }
}

function fill(parent, values, create) {
  const wanted = values.join("\0");
  if (parent.dataset.values === wanted && parent.children.length === values.length) return;
  const before = parent.value;
  parent.replaceChildren(...values.map(create));
  parent.dataset.values = wanted;
  if (before !== undefined && values.includes(before)) parent.value = before;
}

/** The fault that the form describes. */
function described() {
  const { effect, error, ms, when, when_value: value } = form.elements;
  const match = {};
  for (const key of ["api", "rack", "client_rack", "client_id", "topic"]) {
    const given = form.elements[key].value.trim();
    if (given !== "") match[key] = given;
  }
  const effects = { error: error.value.trim(), disconnect: true, silence: true };
  const fault = { effect: { [effect.value]: effects[effect.value] ?? Number(ms.value) } };
  if (Object.keys(match).length > 0) fault.match = match;
  if (when.value !== "") fault.when = { [when.value]: Number(value.value) };
  return fault;
}

async function submit(event) {
  event.preventDefault();
  setText(byId("fault-problem"), "");
  try {
    await inject(described());
    toggle(false);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    setText(byId("fault-problem"), problem.message);
  }
}
