// Amounts and names in words, in the form of the page of `kafka-rack locality`.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const WHOLE = new Intl.NumberFormat("en-US");
const MONEY = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const TERABYTE = 1e12;

/** 1536 -> "1.50 KiB": three digits that count. */
export function bytes(size) {
  if (size === null || size === undefined) return "–";
  let unit = 0;
  let value = size;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  if (unit === 0) return `${value} B`;
  return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ${UNITS[unit]}`;
}

export function count(value) {
  return value === null || value === undefined ? "–" : WHOLE.format(value);
}

/** "1 broker", "2 brokers". */
export function plural(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A part in percent; a little that is not nothing says so. */
export function share(part, whole) {
  if (part <= 0 || whole <= 0) return "0 %";
  if (part >= whole) return "100 %";
  const percent = (100 * part) / whole;
  if (percent < 0.1) return "under 0.1 %";
  return percent > 99.9 ? "over 99.9 %" : `${percent.toFixed(1)} %`;
}

/** What a terabyte costs where `size` bytes cost `amount`, text from the server. */
export function perTerabyte(amount, size, currency) {
  const shown = MONEY.format(size > 0 ? (Number(amount) * TERABYTE) / size : 0);
  return currency.length === 1 ? currency + shown : `${currency} ${shown}`;
}

/** A moment's time of day, to the millisecond, in UTC as in Kafka's logs. */
export function clock(ms) {
  const moment = new Date(ms);
  return Number.isNaN(moment.getTime()) ? "–" : moment.toISOString().slice(11, 23);
}

export function milliseconds(ms) {
  return ms >= 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms)} ms`;
}

/** A name with invisible characters written out, and a word for none. */
export function name(given, absent = "none") {
  if (given === null || given === undefined) return absent;
  if (given === "") return "empty";
  return String(given).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);
}

/** A long name cut; the whole belongs into the title. */
export function short(text, longest = 64) {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

/** Names in the order of people: broker 2 before broker 10. */
export const byName = new Intl.Collator("en", { numeric: true }).compare;
