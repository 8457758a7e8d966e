// The control API, as any other client of it has it.

/** An answer that is a problem (RFC 9457); its message is the problem's detail. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.name = "Problem";
    this.status = status;
  }
}

/** Ask the control API. Raises Problem: it refused, or it cannot be reached (status 0). */
export async function ask(method, path, body) {
  const options = { method, headers: { accept: "application/json" } };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Problem(0, "the control API does not answer; is the cluster still running?");
  }
  const text = await response.text();
  if (!response.ok) throw new Problem(response.status, detailOf(text) ?? `HTTP ${response.status}`);
  return text === "" ? null : JSON.parse(text);
}

function detailOf(text) {
  try {
    const problem = JSON.parse(text);
    return problem.detail ?? problem.error ?? problem.title ?? null;
  } catch {
    return null;
  }
}

/** Filters of the journal as a query string: every filter that is set, lists as repeated names. */
export function query(filters) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== "" && one !== null && one !== undefined) found.append(name, one);
    }
  }
  return found.toString();
}
