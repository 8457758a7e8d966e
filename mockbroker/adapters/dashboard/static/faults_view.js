// Injected faults, what they hit and why one did not; and the form that injects one.

import { Problem, inject, removeFaults } from "./actions.js";
import { byId, draw, h, setAttribute, setText } from "./dom.js";
import { byName, count, name } from "./format.js";
import { button, drawTable, rowsLink } from "./parts.js";
import { state, watch } from "./store.js";

const form = byId("fault-form");

function drawFaults() {
  const columns = [
    { head: "fault", cell: ({ id }) => name(id) },
    { head: "effect", kind: "reason", cell: (fault) => [sentence(fault), h("div", { class: "soft why" }, fault.explanation)] },
    { head: "matched", kind: "number", cell: ({ matched }) => count(matched ?? 0) },
    { head: "fired", kind: "number", cell: firedOf },
    { head: "remove", cell: ({ id }) => button("Remove", `fault ${name(id)}`, () => removeFaults([id])) },
  ];
  drawTable("faults-table", columns, state.faults, ({ id }) => id);
  draw(byId("faults-note"), state.faults.length === 0 && "No faults.");
}

function firedOf({ id, fired = 0 }) {
  const label = `fired ${count(fired)}: the requests that ${name(id)} hit`;
  return fired > 0 ? rowsLink(count(fired), { fault: id }, label) : "0";
}

const WHENS = {
  times: (value) => (value === 1 ? "the first time" : `the first ${value} times`),
  on_call: (value) => `at request ${value} only`,
  every: (value) => `at every ${value}th request`,
  probability: (value) => `with probability ${value}`,
};

/** A fault in words: effect, requests, times. */
export function sentence({ match = {}, link = match?.link, effect = {}, when = {} }) {
  const names = (values) => [values].flat().map((one) => name(one));
  const does = Object.entries(effect)
    .map(([key, value]) => state.names.effects[key]?.does.replace(`{${key}}`, value) ?? `${key} ${value}`)
    .join(", ");
  const between = link?.between && ` between ${names(link.between).join(" and ")}`;
  const over = link ? (between ?? ` from ${names(link.from)} to ${names(link.to)}`) : "";
  const given = (object) => Object.entries(object ?? {}).filter(([key, value]) => key !== "link" && value !== null);
  const to = given(match).map(([key, value]) => `${key.replaceAll("_", " ")} ${names(value).join(" or ")}`);
  const whens = given(when).map(([key, value]) => WHENS[key]?.(value) ?? `${key} ${value}`);
  return [does + over, to.join(", "), whens.join(", ") || "always"].filter(Boolean).join("; ");
}

function toggle(isOpen) {
  form.hidden = !isOpen;
  setAttribute(byId("inject"), "aria-expanded", String(isOpen));
  setText(byId("fault-problem"), "");
  (isOpen ? form.elements.effect : byId("inject")).focus();
}

/** Show the fields of the chosen effect, link and moment. */
function showFields() {
  const { effect, link, when } = form.elements;
  const show = (field, isShown) => (form.elements[field].closest("label").hidden = !isShown);
  if (effect.value === "cut" && link.value === "") link.selectedIndex = Math.min(1, link.options.length - 1);
  show("value", state.names.effects[effect.value]?.example !== true);
  show("when_value", when.value !== "");
}

/** Begin with the example of the chosen effect. */
function showExample() {
  const { effect, value } = form.elements;
  const { example = "" } = state.names.effects[effect.value] ?? {};
  value.type = typeof example === "number" ? "number" : "text";
  value.value = example;
  if (effect.value === "error") value.setAttribute("list", "error-names");
  else value.removeAttribute("list");
  showFields();
}

function drawChoices() {
  const effects = Object.entries(state.names.effects);
  if (effects.length === 0) return;
  byId("inject").disabled = false;
  const option = (value, text = value) => h("option", { value }, text);
  const { effect } = form.elements;
  if (effect.options.length === 0) {
    draw(effect, effects.map(([key, { does }]) => option(key, does.replace(/{.*}/, "…"))));
    showExample();
  }
  draw(byId("error-names"), state.names.errors.map((one) => option(one)));
  draw(byId("api-names"), state.names.apis.map((one) => option(one)));
  draw(byId("topic-names"), state.topics.slice(0, 200).map((topic) => option(topic.name)));
  const racks = Object.keys(state.cluster?.racks ?? {}).sort(byName);
  const pairs = racks.flatMap((from) => racks.filter((to) => to !== from).map((to) => ({ from, to })));
  const both = pairs.filter(({ from, to }) => byName(from, to) < 0).map(({ from, to }) => ({ between: [from, to] }));
  const options = racks.map((one) => option(one, name(one)));
  for (const field of ["rack", "client_rack"]) draw(form.elements[field], option("", "any"), options);
  const words = ({ between, from, to }) => (between ? between.map((one) => name(one)).join(" – ") : `${from} → ${to}`);
  const links = [...both, ...pairs].map((link) => option(JSON.stringify(link), words(link)));
  draw(form.elements.link, option("", "any"), links);
}

/** The fault that the form describes. */
function described() {
  const { effect, value, link, when, when_value: number } = form.elements;
  const { example } = state.names.effects[effect.value];
  const match = {};
  for (const key of ["api", "rack", "client_rack", "client_id", "topic"]) {
    const given = form.elements[key].value.trim();
    if (given !== "") match[key] = given;
  }
  const given = typeof example === "number" ? Number(value.value) : value.value.trim();
  const fault = { effect: { [effect.value]: example === true || given } };
  if (link.value !== "") fault.link = JSON.parse(link.value);
  if (Object.keys(match).length > 0) fault.match = match;
  if (when.value !== "") fault.when = { [when.value]: Number(number.value) };
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

watch(["faults"], drawFaults, 100);
watch(["names", "cluster", "topics"], drawChoices, 1000);
byId("inject").addEventListener("click", () => toggle(form.hidden));
byId("fault-cancel").addEventListener("click", () => toggle(false));
form.addEventListener("keydown", ({ key }) => key === "Escape" && toggle(false));
form.addEventListener("change", ({ target }) => (target.name === "effect" ? showExample() : showFields()));
form.addEventListener("submit", submit);
