// RecordIO, as the operator API streams it: the length of a record in decimal, a newline, and that
// many bytes. Records may come in any pieces.

const NEWLINE = 10;
const DIGITS_MAX = 12;

export class Records {
  // `each` gets the text of every record.
  constructor(each) {
    this.each = each;
    this.decoder = new TextDecoder();
    this.length = 0;      // of the record that is coming
    this.digits = 0;
    this.inside = false;  // its bytes are coming
    this.parts = [];
    this.missing = 0;
  }

  feed(bytes) {
    let at = 0;
    while (at < bytes.length) at = this.inside ? this.#take(bytes, at) : this.#count(bytes, at);
  }

  #count(bytes, at) {
    const byte = bytes[at];
    if (byte === NEWLINE && this.digits) {
      this.inside = true;
      this.missing = this.length;
      if (!this.missing) this.#finish();
    } else if (byte >= 48 && byte <= 57 && this.digits < DIGITS_MAX) {
      this.length = this.length * 10 + byte - 48;
      this.digits += 1;
    } else {
      throw new Error("the stream is no RecordIO");
    }
    return at + 1;
  }

  #take(bytes, at) {
    const part = bytes.subarray(at, at + this.missing);
    this.parts.push(part);
    this.missing -= part.length;
    if (!this.missing) this.#finish();
    return at + part.length;
  }

  #finish() {
    // A character may be split between parts.
    const text = this.parts.map((part) => this.decoder.decode(part, { stream: true })).join("") +
      this.decoder.decode();
    this.parts = [];
    this.length = this.digits = 0;
    this.inside = false;
    this.each(text);
  }
}
