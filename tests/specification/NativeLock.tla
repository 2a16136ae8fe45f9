----------------------------- MODULE NativeLock -----------------------------
(* The lock for one holder on the native wire of Redis, with its waiters, over connections that break.

   Redis has one key: its holder and the line of its waiters, with the time until the key ends, and a counter
   of tokens. A client sends commands over a connection, which Redis runs in order, and gets their replies in
   order. A connection that broke may still bring its commands to Redis, until the client's next connection
   has ended it (CLIENT KILL): then it never does. An undo (of a hold, or of a wait) goes the way of what it
   undoes, behind it, and over the next connection until it is confirmed.

   Time is counted down in ticks of Redis' clock. A client's clock may be slow by Drift ticks in a lease. A
   client may do nothing for any time. The message that wakes a waiter is a hint, and no part of this: a waiter
   may try at any time, and tries at last.

   Left out: readers, re-entry, changes of the mode, operators, failovers. The model checker of the scripts
   (tests/model-check) has them, with the scripts themselves. *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Clients,
  Attempts,     \* how often each client wants the lock
  Breaks,       \* how often a connection breaks, in all
  Lease, Margin, Drift,
  Place,        \* how long a place in line lives after its last sign of life
  Reserved,     \* how long a free lock waits for the first in line
  IsKilled,     \* FALSE: a connection that broke is not ended by the next
  UndoFollows   \* FALSE: an undo does not go behind what it undoes

VARIABLES
  redis,    \* holder, left (of its lease), key (the time until it ends, 0: there is none), line, counter
  client,   \* of each client: see Init
  breaks,   \* how often a connection broke
  last      \* the greatest token of a client that relied on the lock
vars == <<redis, client, breaks, last>>

None == <<>>
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
Down(n) == IF n > 0 THEN n - 1 ELSE 0

Init ==
  /\ redis = [holder |-> None, left |-> 0, key |-> 0, line |-> <<>>, counter |-> 0]
  /\ client = [c \in Clients |-> [
       alive |-> TRUE,
       attempt |-> 0,
       phase |-> "idle",    \* set: SET NX and INCRBY are sent; drawn: the first was granted; script; waits; holds
       renews |-> FALSE,    \* whether a renewal is under way
       sent |-> 0,          \* how long a grant of what was sent last will count, from its sending
       until |-> 0,         \* how long it relies on the lock
       token |-> 0,
       undone |-> {},       \* the owners whose undo is not confirmed
       out |-> <<>>, in |-> <<>>,  \* commands and replies on their way
       old |-> <<>>]]              \* commands of connections that broke
  /\ breaks = 0 /\ last = 0

Relies(c) == client[c].alive /\ client[c].phase = "holds" /\ client[c].until > 0

-----------------------------------------------------------------------------
(* Redis: each command as the state after it, and its answer. *)

Without(line, owner) == SelectSeq(line, LAMBDA place : place.owner # owner)
(* A lock that became free waits a moment for the first in line. *)
Woken(line) == IF line = <<>> THEN <<>> ELSE [line EXCEPT ![1].left = Min(@, Reserved)]
RECURSIVE Longest(_)
Longest(line) == IF line = <<>> THEN 0 ELSE Max(Head(line).left, Longest(Tail(line)))
(* With waiters the key of a held lock lives a moment longer than the lease; of a free one as long as a place. *)
Keyed(r) == [r EXCEPT !.key = CASE r.holder = None -> Longest(r.line)
                                [] r.line = <<>> -> r.left
                                [] OTHER -> r.left + Reserved]
Held(r, owner) == Keyed([r EXCEPT !.holder = owner, !.left = Lease, !.line = Without(@, owner)])

Set(r, owner) ==
  IF r.key > 0 THEN <<r, "busy", 0>>
  ELSE <<[r EXCEPT !.holder = owner, !.left = Lease, !.key = Lease], "granted", 0>>

Draw(r) == <<[r EXCEPT !.counter = @ + 1], "drawn", r.counter + 1>>

Acquire(r, owner) ==
  LET isFirst == r.line = <<>> \/ Head(r.line).owner = owner
      own == [owner |-> owner, left |-> Place]
      at == {i \in 1..Len(r.line) : r.line[i].owner = owner}
      line == IF at = {} THEN Append(r.line, own) ELSE [i \in 1..Len(r.line) |-> IF i \in at THEN own ELSE r.line[i]]
  IN IF r.holder = owner \/ (r.holder = None /\ isFirst)
     THEN <<[Held(r, owner) EXCEPT !.counter = @ + 1], "granted", r.counter + 1>>
     ELSE <<Keyed([r EXCEPT !.line = line]), "busy", 0>>

Renew(r, owner) ==
  IF r.holder = owner THEN <<Held(r, owner), "renewed", 0>> ELSE <<r, "gone", 0>>

Undo(r, owner) ==
  LET line == Without(r.line, owner)
      free == [r EXCEPT !.holder = None, !.left = 0, !.line = Woken(line)]
  IN <<Keyed(IF r.holder \in {owner, None} THEN free ELSE [r EXCEPT !.line = line]), "undone", 0>>

Result(r, command) ==
  CASE command.kind = "set" -> Set(r, command.owner)
    [] command.kind = "draw" -> Draw(r)
    [] command.kind = "acquire" -> Acquire(r, command.owner)
    [] command.kind = "renew" -> Renew(r, command.owner)
    [] command.kind = "undo" -> Undo(r, command.owner)
    [] OTHER -> <<r, "killed", 0>>

Run(c) ==
  /\ client[c].out # <<>>
  /\ LET command == Head(client[c].out)
         result == Result(redis, command)
         reply == [kind |-> command.kind, owner |-> command.owner, answer |-> result[2], token |-> result[3]]
         isKill == command.kind = "kill" /\ IsKilled
     IN /\ redis' = result[1]
        /\ client' = [client EXCEPT ![c].out = Tail(@), ![c].in = Append(@, reply),
                                   ![c].old = IF isKill THEN <<>> ELSE @]
  /\ UNCHANGED <<breaks, last>>

(* A command of a connection that broke comes late, or never. *)
RunLate(c) ==
  /\ client[c].old # <<>>
  /\ \/ redis' = Result(redis, Head(client[c].old))[1]
     \/ UNCHANGED redis
  /\ client' = [client EXCEPT ![c].old = Tail(@)]
  /\ UNCHANGED <<breaks, last>>

(* The key ends with its holder, or a moment later with its line; the places of waiters end by themselves. *)
Tick ==
  LET left == Down(redis.left)
      places == [i \in 1..Len(redis.line) |-> [redis.line[i] EXCEPT !.left = @ - 1]]
      line == SelectSeq(places, LAMBDA place : place.left > 0)
      key == Down(redis.key)
      ticked == [redis EXCEPT !.left = left, !.key = key, !.line = line, !.holder = IF left = 0 THEN None ELSE @]
      gone == [redis EXCEPT !.holder = None, !.left = 0, !.key = 0, !.line = <<>>]
      shorter == [c \in Clients |-> [client[c] EXCEPT !.sent = Down(@), !.until = Down(@)]]
  IN /\ redis' = IF key = 0 THEN gone ELSE ticked
     /\ client' = shorter
     /\ <<redis', client'>> # <<redis, client>>
     /\ UNCHANGED <<breaks, last>>

-----------------------------------------------------------------------------
(* A client. `c` takes the record `me` in the place of its own. *)

Becomes(c, me) == client' = [client EXCEPT ![c] = me] /\ UNCHANGED <<redis, breaks>>
Owner(c) == <<c, client[c].attempt>>
Command(kind, owner) == [kind |-> kind, owner |-> owner]
Tries(phase) == phase \in {"set", "drawn", "script"}
(* How long a hold that is granted may be relied upon, from when it was requested. *)
Times == (Lease - Margin)..(Lease - Margin + Drift)

(* What was requested, or is held, is given back. *)
Undone(me, owner) ==
  LET undo == Command("undo", owner)
      out == IF UndoFollows THEN Append(me.out, undo) ELSE <<undo>> \o me.out
  IN [me EXCEPT !.phase = "idle", !.renews = FALSE, !.until = 0, !.sent = 0, !.token = 0,
                !.undone = @ \cup {owner}, !.out = out]

Begin(c) ==
  /\ client[c].alive /\ client[c].phase = "idle" /\ client[c].attempt < Attempts
  /\ \E time \in Times :
       LET owner == <<c, client[c].attempt + 1>>
       IN Becomes(c, [client[c] EXCEPT !.attempt = @ + 1, !.phase = "set", !.sent = time,
                                       !.out = @ \o <<Command("set", owner), Command("draw", owner)>>])
  /\ UNCHANGED last

Try(c) ==
  /\ client[c].alive /\ client[c].phase = "waits"
  /\ \E time \in Times :
       Becomes(c, [client[c] EXCEPT !.phase = "script", !.sent = time, !.out = Append(@, Command("acquire", Owner(c)))])
  /\ UNCHANGED last

StartRenewal(c) ==
  /\ Relies(c) /\ ~client[c].renews
  /\ \E time \in Times :
       /\ client[c].until < time
       /\ Becomes(c, [client[c] EXCEPT !.renews = TRUE, !.sent = time, !.out = Append(@, Command("renew", Owner(c)))])
  /\ UNCHANGED last

(* A release, a future that is dropped at any point, or the end of a hold that was not renewed in time. *)
End(c) ==
  /\ client[c].alive /\ client[c].phase # "idle"
  /\ Becomes(c, Undone(client[c], Owner(c)))
  /\ UNCHANGED last

Receive(c) ==
  /\ client[c].alive /\ client[c].in # <<>>
  /\ LET reply == Head(client[c].in)
         me == [client[c] EXCEPT !.in = Tail(@)]
         isMine == reply.owner = Owner(c) /\ me.phase # "idle"
         holds == [me EXCEPT !.phase = "holds", !.until = me.sent, !.token = reply.token]
         isHeld == /\ isMine /\ me.sent > 0
                   /\ \/ me.phase = "drawn" /\ reply.kind = "draw"
                      \/ me.phase = "script" /\ reply.kind = "acquire" /\ reply.answer = "granted"
     IN /\ \E time \in Times :
          Becomes(c,
            CASE reply.kind = "undo" -> [me EXCEPT !.undone = @ \ {reply.owner}]
              [] isHeld -> holds
              [] isMine /\ reply.kind = "set" /\ reply.answer = "granted" -> [me EXCEPT !.phase = "drawn"]
              [] isMine /\ reply.kind = "set" -> [me EXCEPT !.phase = "script", !.sent = time,
                                                            !.out = Append(@, Command("acquire", reply.owner))]
              [] isMine /\ reply.kind = "acquire" /\ reply.answer = "busy" -> [me EXCEPT !.phase = "waits"]
              [] isMine /\ reply.kind = "renew" /\ reply.answer = "renewed" /\ me.until > 0 
                   -> [me EXCEPT !.renews = FALSE, !.until = Max(@, me.sent)]
              (* The hold is gone, or the reply came too late: what is lost is not relied upon again. *)
              [] isMine /\ (reply.kind = "renew" \/ (Tries(me.phase) /\ reply.kind # "set" /\ me.sent = 0))
                   -> Undone(me, reply.owner)
              [] OTHER -> me)
        /\ last' = IF isHeld THEN Max(last, reply.token) ELSE last

(* The next connection ends the old one first. Then come the undos, and what is wanted still. *)
Reconnect(c) ==
  /\ client[c].alive /\ breaks < Breaks /\ breaks' = breaks + 1
  /\ \E time \in Times, undos \in {s \in [1..Cardinality(client[c].undone) -> client[c].undone] :
                                     \A i, j \in DOMAIN s : i # j => s[i] # s[j]} :
       LET me == client[c]
           again == IF Tries(me.phase) THEN <<Command("acquire", Owner(c))>> ELSE <<>>
       IN client' = [client EXCEPT ![c] = [me EXCEPT
            !.old = @ \o me.out, !.in = <<>>, !.renews = FALSE,
            !.phase = IF Tries(@) THEN "script" ELSE @,
            !.sent = IF Tries(me.phase) THEN time ELSE 0,
            !.out = <<Command("kill", None)>> \o [i \in DOMAIN undos |-> Command("undo", undos[i])] \o again]]
  /\ UNCHANGED <<redis, last>>

Crash(c) ==
  /\ client[c].alive
  /\ Becomes(c, [client[c] EXCEPT !.alive = FALSE, !.phase = "idle", !.until = 0, !.sent = 0,
                                  !.token = 0, !.renews = FALSE, !.undone = {}, !.in = <<>>])
  /\ UNCHANGED last

Next ==
  \/ Tick
  \/ \E c \in Clients : \/ Run(c) \/ RunLate(c) \/ Begin(c) \/ Try(c) \/ StartRenewal(c) \/ End(c)
                        \/ Receive(c) \/ Reconnect(c) \/ Crash(c)

(* Redis and the network go on, waiters try at last, and holders release at last. *)
Fairness ==
  /\ WF_vars(Tick)
  /\ \A c \in Clients : /\ WF_vars(Run(c)) /\ WF_vars(Receive(c)) /\ WF_vars(Try(c))
                        /\ WF_vars(client[c].phase = "holds" /\ End(c))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* P1: at every instant one client relies on the lock. *)
Exclusion == \A c, d \in Clients : Relies(c) /\ Relies(d) => c = d

(* What a client relies on, Redis has. *)
RedisHasIt == \A c \in Clients : Relies(c) => redis.holder = Owner(c)

(* P6: the token of each hold is above those of all before it. *)
TokensGrow == [][\A c \in Clients : ~Relies(c) /\ Relies(c)' => client'[c].token > last]_vars

(* P4, P9: whatever clients do, the key ends. *)
EveryKeyEnds == redis.key <= Lease + Reserved \/ redis.key <= Place

(* P5: of a client that wants nothing, and whose undos are confirmed, nothing is in Redis. *)
NothingLeft == \A c \in Clients :
  client[c].alive /\ client[c].phase = "idle" /\ client[c].undone = {} /\ client[c].old = <<>> =>
    /\ redis.holder = None \/ redis.holder[1] # c
    /\ \A i \in 1..Len(redis.line) : redis.line[i].owner[1] # c

(* No lock is stranded: a waiter that does not die, and does not give up, gets the lock. *)
WaitersEnter == \A c \in Clients : client[c].phase = "waits" ~> (client[c].phase = "holds" \/ client[c].phase = "idle")
=============================================================================
