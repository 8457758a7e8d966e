// What the server sends about traffic, as the views have it.

const SEPARATOR = "\0";

/** Sums and rows of GET /traffic. */
export function trafficOf(given) {
  const rows = given.rack_pairs.map((row) => ({ ...row, month: row.month ?? 0 }));
  const sums = { cross: 0, unknown: 0, local: 0 };
  for (const row of rows) sums[row.locality] += row.bytes;
  const { cross, unknown, local } = sums;
  return {
    rows,
    clients: given.clients.map(clientOf),
    cross,
    unknown,
    local,
    total: cross + unknown + local,
    month: given.month,
    currency: given.currency,
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
