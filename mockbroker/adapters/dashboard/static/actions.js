// The control API, and the commands of the buttons: each is announced, and recorded for "Copy as pytest".

import { byId, setText } from "./dom.js";
import { plural } from "./format.js";
import { changed, state } from "./store.js";

/** Announce the result of a command or why it failed, for screen readers too. */
export function say(text, isFailed = false) {
  setText(byId(isFailed ? "failed" : "said"), text);
  setText(byId(isFailed ? "said" : "failed"), "");
}

addEventListener("keydown", ({ key }) => key === "Escape" && setText(byId("failed"), ""));

/**
 * Give a command to the cluster. Raises Problem: it is refused.
 *
 * @param action {kind, ...}: one step of "Copy as pytest"
 * @param perform () -> the announcement
 */
async function command(action, perform) {
  const words = await perform();
  state.actions.push({ ...action, atMs: Date.now(), words });
  changed("actions");
  say(words);
}

/** The same for a button: the problem is announced. */
async function press(action, perform) {
  try {
    await command(action, perform);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    say(problem.message, true);
  }
}

const path = encodeURIComponent;
const DONE = { stop: "Stopped", start: "Started" };

/** Stop or start a rack: `verb` is stop or start. */
export const switchRack = (verb, rack) =>
  press({ kind: `${verb}_rack`, rack }, async () => {
    const { brokers } = await ask("POST", `racks/${path(rack)}/${verb}`);
    return `${DONE[verb]} rack ${rack}: ${plural(brokers.length, "broker")} ${verb === "stop" ? "down" : "up again"}.`;
  });

/** Stop or start a broker. */
export const switchBroker = (verb, broker) =>
  press({ kind: `${verb}_broker`, broker }, async () => {
    await ask("POST", `brokers/${broker}/${verb}`);
    return `${DONE[verb]} broker ${broker}.`;
  });

export const reset = () =>
  press({ kind: "reset" }, async () => {
    await ask("POST", "reset");
    state.requests = [];
    changed("requests");
    return "The cluster is as it was started.";
  });

/** Inject a fault. Raises Problem: the fault is wrong. */
export function inject(fault, run = command, words = (id) => `Injected ${id}.`) {
  const action = { kind: "add_fault", fault };
  const perform = async () => {
    const made = await ask("POST", "faults", fault);
    action.id = made.id;
    if (!state.faults.some(({ id }) => id === made.id)) state.faults = [...state.faults, made];
    changed("faults");
    return words(made.id);
  };
  return run(action, perform);
}

export const cutLink = (first, second) =>
  inject({ link: { between: [first, second] }, effect: { cut: true } }, press, () => `Cut link ${first} - ${second}.`);

/** Remove faults. */
export const removeFaults = (ids, words = `Removed ${ids.join(", ")}.`) =>
  press({ kind: "remove_faults", ids }, async () => {
    for (const id of ids) await ask("DELETE", `faults/${path(id)}`);
    state.faults = state.faults.filter(({ id }) => !ids.includes(id));
    changed("faults");
    return words;
  });

/** An answer that is a problem (RFC 9457); its message is the problem's detail. */
export class Problem extends Error {}

/** Call the control API. Raises Problem: it refused, or it cannot be reached. */
export async function ask(method, path, body) {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(path, { method, headers, body: JSON.stringify(body) }).catch(() => {
    throw new Problem("the control API does not answer; is the cluster still running?");
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(answer.detail ?? answer.title ?? `HTTP ${response.status}`);
  return answer;
}
