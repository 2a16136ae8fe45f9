//! Mutants of fencing tokens.

use super::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "tokens are counted from the last alone",
        defect: "",
        file: "lib/next_token",
        from: "if last >= token then",
        to: "if true then",
        model: "fenced: tokens stay",
    },
    Mutant {
        name: "tokens follow the clock alone",
        defect: "",
        file: "lib/next_token",
        from: "if last >= token then",
        to: "if false then",
        model: "reentrant: two",
    },
    Mutant {
        name: "a token is not kept",
        defect: "",
        file: "lib/next_token",
        from: "    redis.call('set', key, last_reserved, 'px', ttl_ms)\n",
        to: "",
        model: "reentrant: two",
    },
    Mutant {
        name: "a token stays forever",
        defect: "",
        file: "lib/next_token",
        from: "    redis.call('set', key, last_reserved, 'px', ttl_ms)\n",
        to: "    redis.call('set', key, last_reserved)\n",
        model: "reentrant: two",
    },
    Mutant {
        name: "a permanent token is given an end",
        defect: "",
        file: "lib/next_token",
        from: "if ttl_ms == 0 or (stored and redis.call('pttl', key) == -1) then",
        to: "if ttl_ms == 0 and not stored then",
        model: "fenced: tokens stay",
    },
    Mutant {
        name: "tokens are written as Lua writes numbers",
        defect: "",
        file: "lib/next_token",
        from: "return text",
        to: "return tostring(token)",
        model: "reentrant: two",
    },
    Mutant {
        name: "a repeated grant has the old token",
        defect: "",
        file: "exclusive/acquire",
        from: "    fence = next_token(token, counter, token_ttl_ms, reserved_tokens)\n    if not fence",
        to: "    fence = redis.call('get', token)\n    if not fence",
        model: "reentrant: late",
    },
];
