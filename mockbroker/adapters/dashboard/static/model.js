// What the server sends about traffic, as the views have it.

const SEPARATOR = "\0";

/** The summary and the flows of GET /traffic; money comes as text from the server. */
export function trafficOf(given) {
  return {
    rows: given.flows,
    clients: given.clients.map(clientOf),
    summary: given.summary,
    completeness: given.completeness,
  };
}

function clientOf(client) {
  return {
    key: [client.client_id ?? "", client.client_rack ?? "", client.is_other].join(SEPARATOR),
    client_id: client.client_id || null,
    rack: client.client_rack,
    source: client.client_rack_source,
    local: client.local_bytes,
    cross: client.cross_bytes,
    unknown: client.unknown_bytes,
    reason: client.reason,
    detail: client.detail,
    isOther: client.is_other,
  };
}
