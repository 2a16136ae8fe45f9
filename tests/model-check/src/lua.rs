//! Runs scripts as Redis runs them: Lua 5.1, no globals of their own, `redis.call` and its like.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use lock_core::test_util::PlainCall;
use mlua::state::{GcIncParams, GcMode};
use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value, Variadic};

use crate::{
    redis::{Redis, Reply},
    texts::Texts,
};

/// What scripts find, and a run that says an error as Redis does.
const PRELUDE: &str = "
local raw = ...
redis = {pcall = raw}
function redis.call(...)
  local reply = raw(...)
  if type(reply) == 'table' and reply.err then error(reply, 0) end
  return reply
end
function redis.error_reply(text) return {err = text} end
function redis.status_reply(text) return {ok = text} end
print, dofile, loadfile, load, loadstring, require, module, collectgarbage = nil
local function run(script)
  local done, reply = pcall(script)
  if done or type(reply) == 'table' then return reply end
  return {err = 'ERR ' .. tostring(reply)}
end
setmetatable(_G, {
  __newindex = function(_, name) error('Attempt to modify a readonly table: ' .. tostring(name), 2) end,
  __index = function(_, name) error('Script attempted to access nonexistent global variable ' .. tostring(name), 2) end,
})
return run
";

thread_local! {
    static LATEST: RefCell<Option<(u64, Rc<Interpreter>)>> = const { RefCell::new(None) };
}

/// A call whose words Lua has already.
#[derive(Debug, Clone)]
pub struct Prepared {
    script: Function,
    keys: Table,
    args: Table,
}

impl Prepared {
    /// Puts a number in the place of an argument; the nonce is the first.
    pub(crate) fn set_arg(&self, at: usize, number: i64) {
        self.args.raw_set(at, number.to_string()).expect("memory for it");
    }
}

/// The scripts, compiled, of one thread.
pub struct Interpreter {
    lua: Lua,
    globals: Table,
    run: Function,
    scripts: HashMap<&'static str, Function>,
    redis: Rc<RefCell<Redis>>,
}

impl std::fmt::Debug for Interpreter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interpreter").finish_non_exhaustive()
    }
}

impl Interpreter {
    /// Of these texts.
    ///
    /// # Errors
    ///
    /// A text is no Lua.
    pub fn new(texts: &Texts) -> mlua::Result<Self> {
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        // What one run leaves behind is small: to collect it seldom is cheaper.
        lua.gc_set_mode(GcMode::Incremental(GcIncParams::default().pause(1_000)));
        let redis = Rc::new(RefCell::new(Redis::at(0)));
        let called = Rc::clone(&redis);
        let raw = lua.create_function(move |lua, words: Variadic<Value>| {
            let words = words.iter().map(|word| word_of(lua, word)).collect::<mlua::Result<_>>();
            let words: Vec<Vec<u8>> = words?;
            to_lua(lua, &called.borrow_mut().call_in_script(&words))
        })?;
        let run = lua.load(PRELUDE).set_name("prelude").call(raw)?;
        let mut scripts = HashMap::new();
        for (name, text) in texts.each() {
            scripts.insert(name, lua.load(text).set_name(name).into_function()?);
        }
        Ok(Self { globals: lua.globals(), lua, run, scripts, redis })
    }

    /// This thread's, of these texts.
    ///
    /// # Panics
    ///
    /// When a text is no Lua.
    #[must_use]
    pub fn of_thread(texts: &Texts) -> Rc<Self> {
        LATEST.with_borrow_mut(|latest| match latest {
            Some((id, interpreter)) if *id == texts.id() => Rc::clone(interpreter),
            _ => {
                let new = Self::new(texts).unwrap_or_else(|error| panic!("{error}"));
                Rc::clone(&latest.insert((texts.id(), Rc::new(new))).1)
            }
        })
    }

    /// Hands a call's words to Lua, for as often as it is run.
    ///
    /// # Panics
    ///
    /// When there is no such script.
    #[must_use]
    pub fn prepare(&self, call: &PlainCall) -> Prepared {
        let script = self.scripts.get(call.script);
        let script = script.unwrap_or_else(|| panic!("no script {}", call.script)).clone();
        let texts = |words: Vec<&[u8]>| {
            let words = words.into_iter().map(|word| self.lua.create_string(word));
            let words = words.collect::<mlua::Result<Vec<_>>>();
            words.and_then(|words| self.lua.create_sequence_from(words)).expect("memory for it")
        };
        Prepared {
            script,
            keys: texts(call.keys.iter().map(String::as_bytes).collect()),
            args: texts(call.args.iter().map(Vec::as_slice).collect()),
        }
    }

    /// Runs a script on this key space.
    pub fn run(&self, redis: &mut Redis, call: &PlainCall) -> Reply {
        self.run_prepared(redis, &self.prepare(call))
    }

    /// Runs a call of this interpreter on this key space.
    pub fn run_prepared(&self, redis: &mut Redis, call: &Prepared) -> Reply {
        redis.between_scripts();
        std::mem::swap(&mut *self.redis.borrow_mut(), redis);
        let reply = self.evaluate(call);
        std::mem::swap(&mut *self.redis.borrow_mut(), redis);
        redis.between_scripts();
        reply.unwrap_or_else(|error| Reply::Error(format!("ERR {error}")))
    }

    fn evaluate(&self, call: &Prepared) -> mlua::Result<Reply> {
        self.globals.raw_set("KEYS", &call.keys)?;
        self.globals.raw_set("ARGV", &call.args)?;
        from_lua(&self.run.call(&call.script)?)
    }
}

/// An argument of `redis.call`: Redis writes a number with all its digits.
fn word_of(lua: &Lua, word: &Value) -> mlua::Result<Vec<u8>> {
    match word {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Integer(number) => Ok(number.to_string().into_bytes()),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e17 => {
            Ok(format!("{number:.0}").into_bytes())
        }
        Value::Number(number) => {
            let format: Function = lua.globals().get::<Table>("string")?.get("format")?;
            let text: mlua::LuaString = format.call(("%.17g", *number))?;
            Ok(text.as_bytes().to_vec())
        }
        _ => {
            let why = "Lua redis lib command arguments must be strings or integers";
            Err(mlua::Error::RuntimeError(why.into()))
        }
    }
}

fn to_lua(lua: &Lua, reply: &Reply) -> mlua::Result<Value> {
    let with = |name: &str, text: &str| -> mlua::Result<Value> {
        let table = lua.create_table()?;
        table.raw_set(name, text)?;
        Ok(Value::Table(table))
    };
    Ok(match reply {
        #[expect(clippy::cast_precision_loss, reason = "as in Redis: Lua knows no other numbers")]
        Reply::Int(number) => Value::Number(*number as f64),
        Reply::Bulk(bytes) => Value::String(lua.create_string(bytes)?),
        Reply::Nil => Value::Boolean(false),
        Reply::Status(text) => with("ok", text)?,
        Reply::Error(text) => with("err", text)?,
        Reply::Array(parts) => {
            let parts =
                parts.iter().map(|part| to_lua(lua, part)).collect::<mlua::Result<Vec<_>>>();
            Value::Table(lua.create_sequence_from(parts?)?)
        }
    })
}

fn from_lua(value: &Value) -> mlua::Result<Reply> {
    Ok(match value {
        Value::String(text) => Reply::Bulk(text.as_bytes().to_vec()),
        Value::Integer(number) => Reply::Int(*number),
        #[expect(clippy::cast_possible_truncation, reason = "as in Redis")]
        Value::Number(number) => Reply::Int(*number as i64),
        Value::Boolean(true) => Reply::Int(1),
        Value::Table(table) => {
            if let Some(error) = table.raw_get::<Option<mlua::LuaString>>("err")? {
                return Ok(Reply::Error(error.to_string_lossy()));
            }
            if let Some(text) = table.raw_get::<Option<mlua::LuaString>>("ok")? {
                return Ok(Reply::Status(text.to_string_lossy()));
            }
            let parts = (1..).map(|at| table.raw_get::<Value>(at));
            let parts = parts.take_while(|part| !matches!(part, Ok(Value::Nil)));
            let parts = parts.map(|part| from_lua(&part?));
            Reply::Array(parts.collect::<mlua::Result<_>>()?)
        }
        _ => Reply::Nil,
    })
}
