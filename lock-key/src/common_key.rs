//! Finds a key that two templates both give.
//!
//! `user-{id}` and `user-{id}-cart` both give `user-7-cart`: the first for the id `7-cart`. Each
//! template is a machine that reads its keys byte by byte, and a search through the pairs of states
//! finds the shortest text that both read to their ends.

use std::collections::{HashMap, VecDeque};

use crate::{
    DIGEST_BYTES, PlaceholderType, Segment,
    encode::{HEX, is_plain},
};

/// How a pair of states was reached first: from which pair, and by which byte.
type Reached = HashMap<usize, (usize, Option<u8>)>;

/// Returns the shortest key that both templates give, or `None`.
pub(crate) fn common_key(one: &[Segment], other: &[Segment]) -> Option<String> {
    // Most pairs of templates differ in their first or last text, and need no search.
    let [begins, ends] = [<[Segment]>::first, <[Segment]>::last]
        .map(|segment| [one, other].map(|template| literal(segment(template))));
    if !(begins[0].starts_with(begins[1]) || begins[1].starts_with(begins[0]))
        || !(ends[0].ends_with(ends[1]) || ends[1].ends_with(ends[0]))
    {
        return None;
    }
    let (one, other) = (Machine::of(one), Machine::of(other));
    let width = other.states.len();
    let end = one.states.len() * width - 1;
    let mut reached = Reached::new();
    let mut next = VecDeque::from([(0, (0, None))]);
    while let Some((pair, from)) = next.pop_front() {
        if reached.contains_key(&pair) {
            continue;
        }
        reached.insert(pair, from);
        if pair == end {
            return Some(text(&reached, end));
        }
        for (to, byte) in steps(&one.states[pair / width], &other.states[pair % width]) {
            let to = to.0.unwrap_or(pair / width) * width + to.1.unwrap_or(pair % width);
            // A step that reads nothing does not make the text longer.
            match byte {
                Some(_) => next.push_back((to, (pair, byte))),
                None => next.push_front((to, (pair, byte))),
            }
        }
    }
    None
}

fn literal(segment: Option<&Segment>) -> &str {
    match segment {
        Some(Segment::Literal(text)) => text,
        _ => "",
    }
}

type PairOfStates = (Option<usize>, Option<usize>);

/// Returns the steps of a pair of states: both read one byte, or one of them reads nothing.
fn steps(one: &[Step], other: &[Step]) -> Vec<(PairOfStates, Option<u8>)> {
    let mut steps = Vec::new();
    steps
        .extend(one.iter().filter(|step| step.reads.is_none()).map(|a| ((Some(a.to), None), None)));
    steps.extend(
        other.iter().filter(|step| step.reads.is_none()).map(|b| ((None, Some(b.to)), None)),
    );
    for a in one {
        for b in other {
            if let (Some(read), Some(same)) = (a.reads, b.reads)
                && let Some(byte) = read.common(same)
            {
                steps.push(((Some(a.to), Some(b.to)), Some(byte)));
            }
        }
    }
    steps
}

/// Returns the bytes that were read on the way to the state `at`.
fn text(reached: &Reached, mut at: usize) -> String {
    let mut bytes = Vec::new();
    while at != 0 {
        let (before, byte) = reached[&at];
        bytes.extend(byte);
        at = before;
    }
    bytes.reverse();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The steps from each state. The first state is the start, the last one the end.
struct Machine {
    states: Vec<Vec<Step>>,
}

#[derive(Clone, Copy)]
struct Step {
    /// `None`: the step is taken without reading.
    reads: Option<Bytes>,
    to: usize,
}

/// A set of bytes.
#[derive(Clone, Copy)]
enum Bytes {
    One(u8),
    Digit,
    FirstDigit,
    LowerHex,
    UpperHex,
    Plain,
    PlainLower,
}

impl Bytes {
    fn contain(self, byte: u8) -> bool {
        match self {
            Self::One(one) => byte == one,
            Self::Digit => byte.is_ascii_digit(),
            Self::FirstDigit => matches!(byte, b'1'..=b'9'),
            Self::LowerHex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::UpperHex => HEX.contains(&char::from(byte)),
            Self::Plain => is_plain(byte),
            Self::PlainLower => is_plain(byte) && !byte.is_ascii_uppercase(),
        }
    }

    /// Returns a byte of both sets, one that is easily read if there is a choice.
    fn common(self, other: Self) -> Option<u8> {
        let mut bytes = (b'1'..=b'9').chain(b'a'..=b'z').chain(0..=u8::MAX);
        bytes.find(|byte| self.contain(*byte) && other.contain(*byte))
    }
}

impl Machine {
    fn of(segments: &[Segment]) -> Self {
        let mut machine = Self { states: vec![Vec::new()] };
        for segment in segments {
            match segment {
                Segment::Literal(text) => {
                    text.bytes().for_each(|byte| machine.read(Bytes::One(byte)))
                }
                Segment::Placeholder(it) if it.hash => {
                    machine.repeat(DIGEST_BYTES, Bytes::LowerHex)
                }
                Segment::Placeholder(it) => machine.value(it.ty),
            }
        }
        machine
    }

    /// Adds the [canonical](crate::Placeholder::canonical) values of a type, encoded.
    fn value(&mut self, ty: PlaceholderType) {
        match ty {
            PlaceholderType::Text => self.text(Bytes::Plain),
            PlaceholderType::Lower => self.text(Bytes::PlainLower),
            PlaceholderType::U64 => self.number(20),
            PlaceholderType::I64 => {
                let start = self.states.len() - 1;
                self.read(Bytes::One(b'-'));
                self.step(start, None, start + 1);
                self.number(19);
            }
            PlaceholderType::Uuid => {
                self.repeat(8, Bytes::LowerHex);
                for digits in [4, 4, 4, 12] {
                    self.read(Bytes::One(b'-'));
                    self.repeat(digits, Bytes::LowerHex);
                }
            }
        }
    }

    fn step(&mut self, from: usize, reads: Option<Bytes>, to: usize) {
        self.states[from].push(Step { reads, to });
    }

    fn read(&mut self, bytes: Bytes) {
        let from = self.states.len() - 1;
        self.states.push(Vec::new());
        self.step(from, Some(bytes), from + 1);
    }

    fn repeat(&mut self, times: usize, bytes: Bytes) {
        (0..times).for_each(|_| self.read(bytes));
    }

    /// Adds one plain or encoded byte, or several.
    fn text(&mut self, plain: Bytes) {
        let start = self.states.len() - 1;
        let end = start + 3;
        self.read(Bytes::One(b'%'));
        self.repeat(2, Bytes::UpperHex);
        self.step(start, Some(plain), end);
        self.step(end, None, start);
    }

    /// Adds a whole number without leading zeros, of at most `most` digits.
    fn number(&mut self, most: usize) {
        let start = self.states.len() - 1;
        let end = start + most;
        self.read(Bytes::FirstDigit);
        self.repeat(most - 1, Bytes::Digit);
        self.step(start, Some(Bytes::One(b'0')), end);
        (start + 1..end).for_each(|shorter| self.step(shorter, None, end));
    }
}
