// Sends requests to the server. A refusal throws an ApiError with a message; no response throws one with `gone`.

const ROOT = "/api/v1";
const TOKEN = "ringsched-token"; // kept until the tab is closed
const MOST_TRIES = 6; // while the server is busy

/** An error that the server reports, with its place. */
export class ApiError extends Error {
  constructor({ message, place = null, field = null }, { status = 0, gone = false } = {}) {
    super(message);
    Object.assign(this, { place, field, status, gone });
  }

  /** Whether the server requires a token, or a different one. */
  get locked() {
    return this.status === 401;
  }

  /** The message without its place, for display at that place. */
  get short() {
    const start = `${this.place}: `;
    return this.message.startsWith(start) ? this.message.slice(start.length) : this.message;
  }
}

const GONE = { message: "The server does not respond. Check that `ringsched serve` is still running." };
const NO_TOKEN = { message: "The server requires a token. Copy it from the end of the address that `ringsched serve` printed, after #token=." };

/** Send a request and return the response, by default as JSON. */
export async function ask(method, path, body, { signal, as = "json", keepalive = false } = {}) {
  const answer = await patiently(method, path, body, { signal, keepalive });
  return connected(() => answer[as](), signal);
}

/** Send a request, and repeat it while the server is busy. */
async function patiently(method, path, body, { signal, keepalive }) {
  for (let tries = 1; ; tries += 1) {
    const answer = await connected(() => fetch(`${ROOT}${path}`, {
      method, signal, keepalive, headers: headers(body), body: body === undefined ? undefined : JSON.stringify(body),
    }), signal);
    if (answer.ok) return answer;
    if (answer.status !== 503 || tries >= MOST_TRIES) throw await refusal(answer);
    await pause(Math.min(2, Number(answer.headers.get("Retry-After")) || 1) * 1000, signal);
  }
}

/** Yield [name, data] of every event until the stream ends. */
export async function* events(path, signal) {
  const answer = await patiently("GET", path, undefined, { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await connected(() => reader.read(), signal);
    if (done) return;
    const parts = (text + value).split(/\r?\n\r?\n/);
    text = parts.pop();
    for (const part of parts) {
      const event = parsed(part);
      if (event) yield event;
    }
  }
}

function parsed(part) {
  let [name, data] = ["message", ""];
  for (const line of part.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5).trimStart();
  }
  return data ? [name, JSON.parse(data)] : null; // else a comment that keeps the connection alive
}

async function connected(act, signal) {
  try {
    return await act();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(GONE, { gone: true });
  }
}

async function refusal(answer) {
  if (answer.status === 401) return new ApiError(NO_TOKEN, { status: 401 });
  try {
    return new ApiError((await answer.json()).error, { status: answer.status });
  } catch {
    return new ApiError({ message: `The server responded with status ${answer.status} and no message.` }, { status: answer.status });
  }
}

function headers(body) {
  const token = sessionStorage.getItem(TOKEN);
  return {
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
  };
}

/** Keep the token of an address such as `#token=...` for this tab; return whether there was one. */
export function keepToken(fragment) {
  const token = new URLSearchParams(fragment).get("token");
  if (token) setToken(token);
  return Boolean(token);
}

/** Keep a token for this tab, without characters that browsers would refuse to send. */
export function setToken(token) {
  sessionStorage.setItem(TOKEN, token.replaceAll(/[^!-~]/g, ""));
}

/** Return whether there is a token, valid or not. */
export function hasToken() {
  return Boolean(sessionStorage.getItem(TOKEN));
}

/** Wait, or until the signal aborts. */
export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
