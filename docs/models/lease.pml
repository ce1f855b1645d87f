/*
 * Lease and fencing of one saga, as src/patterns/saga/storage.ts has it. Two workers may claim it at any time that the lease
 * allows; a worker may be paused at any place and for any time, be killed, or lose its connection after a commit. The clock of
 * the database may jump: the lease may end at any time. Checked: the state of the saga is written by one claim after another,
 * never by two in turn; a late write changes nothing; each step is done once in the table, and its effect happens once in a
 * service that knows its key.
 *
 *     node scripts/judges/model.mjs
 */
#define WORKERS 3
#define STEPS 2
#define CLAIMS 4

byte token = 0;          /* the token of the last claim */
bool leased = false;     /* the lease has not ended, by the clock of the database */
byte step = 0;           /* the step that is next */
bool started[STEPS];     /* "action started" is in the log */
byte done[STEPS];        /* times that "action done" was written */
byte effects[STEPS];     /* effects in the service, which counts each key once */
bool called[STEPS];      /* the key is known to the service */
byte last_writer = 0;    /* the token of the last line of the log */
bool finished = false;

/* A line of the log. Tokens never go back: no two claims write in turn. */
inline write_log(mine) {
  assert(mine >= last_writer);
  last_writer = mine
}

proctype Worker() {
  byte mine;
  byte at;
  bool held;
claim:
  do
  :: atomic {
       /* update ... set token = token + 1 where the lease has ended: one statement, under the row's lock */
       (!leased && !finished && token < CLAIMS) ->
       token++;
       leased = true;
       mine = token;
       at = step;
       held = true
     };
     break
  :: finished -> goto end
  :: token == CLAIMS -> goto end
  od;

drive:
  do
  :: at == STEPS -> break
  :: at < STEPS ->
     /* before the effect: where id = ... and token = ... */
     atomic {
       if
       :: token == mine -> started[at] = true; write_log(mine)
       :: else -> held = false
       fi
     };
     if
     :: !held -> goto claim
     :: else
     fi;
     /* the process may be paused here for any time: nothing holds it to its lease */
     if
     :: goto end                       /* killed before the effect */
     :: skip
     fi;
     /* the effect, with its key; a worker that is late calls it again */
     atomic {
       assert(started[at]);
       if
       :: called[at] -> skip
       :: else -> called[at] = true; effects[at]++
       fi
     };
     if
     :: goto end                       /* killed after the effect */
     :: skip
     fi;
     /* after the effect: fenced again */
     atomic {
       if
       :: token == mine -> assert(step == at); done[at]++; step = at + 1; write_log(mine)
       :: else -> held = false
       fi
     };
     if
     :: !held -> goto claim
     :: goto claim                     /* committed, but the answer was lost: it begins anew from the table */
     :: else
     fi;
     at++
  od;
  atomic {
    if
    :: token == mine -> assert(step == STEPS); finished = true; leased = false; write_log(mine)
    :: else
    fi
  };
end:
  skip
}

/* The lease ends at any time: because it was not renewed, or because a clock has jumped. */
proctype Time() {
end:
  do
  :: leased -> leased = false
  od
}

/* No step is done twice, and no effect happens twice, whoever is late. */
proctype Ledger() {
  byte n;
end:
  do
  :: atomic {
       for (n : 0 .. STEPS - 1) {
         assert(done[n] <= 1);
         assert(effects[n] <= 1);
         assert(!done[n] || effects[n] == 1)
       }
     }
  od
}

init {
  byte n;
  atomic {
    for (n : 1 .. WORKERS) { run Worker() }
    run Time();
    run Ledger()
  }
}
