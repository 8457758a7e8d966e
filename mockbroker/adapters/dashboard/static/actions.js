// What the buttons do: each is a call of the control API, is said aloud, and is kept for "Copy as pytest".

import { Problem, ask } from "./api.js";
import { byId, setText } from "./dom.js";
import { plural } from "./format.js";
import { changed, state } from "./store.js";

/** Say what an action did, or why it failed; screen readers say it too. */
export function say(text, failed = false) {
  setText(byId(failed ? "failed" : "said"), text);
  setText(byId(failed ? "said" : "failed"), "");
}

addEventListener("keydown", ({ key }) => key === "Escape" && setText(byId("failed"), ""));

/**
 * Do one thing to the cluster.
 *
 * @param action {kind, ...}: what "Copy as pytest" makes a line of
 * @param perform gives what to say
 * @returns whether it was done
 */
async function act(action, perform) {
  try {
    const words = await perform(action);
    state.actions.push({ ...action, atMs: Date.now(), words });
    changed("actions");
    say(words);
    return true;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    say(problem.message, true);
    return false;
  }
}

const path = encodeURIComponent;

export const stopRack = (rack) =>
  act({ kind: "stop_rack", rack }, async () => {
    const { brokers } = await ask("POST", `racks/${path(rack)}/stop`);
    return `Stopped rack ${rack}: ${plural(brokers.length, "broker")} down.`;
  });

export const startRack = (rack) =>
  act({ kind: "start_rack", rack }, async () => {
    const { brokers } = await ask("POST", `racks/${path(rack)}/start`);
    return `Started rack ${rack}: ${plural(brokers.length, "broker")} up again.`;
  });

export const stopBroker = (broker) =>
  act({ kind: "stop_broker", broker }, async () => {
    await ask("POST", `brokers/${broker}/stop`);
    return `Stopped broker ${broker}.`;
  });

export const startBroker = (broker) =>
  act({ kind: "start_broker", broker }, async () => {
    await ask("POST", `brokers/${broker}/start`);
    return `Started broker ${broker}.`;
  });

export const cutLink = (first, second) =>
  act({ kind: "add_fault", fault: { link: { between: [first, second] }, effect: { cut: true } } }, async (action) => {
    await addFault(action);
    return `Cut the link between rack ${first} and rack ${second}.`;
  });

/** Mend a link: take away every fault that cuts it. */
export const mendLink = (first, second, ids) =>
  act({ kind: "remove_faults", ids }, async () => {
    for (const id of ids) await ask("DELETE", `faults/${path(id)}`);
    return `Mended the link between rack ${first} and rack ${second}.`;
  });

/** Inject a fault. Raises Problem: what is wrong with it, for the form to show. */
export async function inject(fault) {
  const action = { kind: "add_fault", fault };
  const id = await addFault(action);
  state.actions.push({ ...action, atMs: Date.now(), words: `Set fault ${id}.` });
  changed("actions");
  say(`Set fault ${id}.`);
}

export const removeFault = (id) =>
  act({ kind: "remove_faults", ids: [id] }, async () => {
    await ask("DELETE", `faults/${path(id)}`);
    return `Removed fault ${id}.`;
  });

export const reset = () =>
  act({ kind: "reset" }, async () => {
    await ask("POST", "reset");
    state.requests = [];
    changed("requests");
    return "The cluster is as it was started.";
  });

/** Set a fault; the action keeps the id that it was given. */
async function addFault(action) {
  const made = await ask("POST", "faults", action.fault);
  action.id = made.id;
  if (!state.faults.some((fault) => fault.id === made.id)) {
    state.faults = [...state.faults, made];
    changed("faults");
  }
  return made.id;
}
