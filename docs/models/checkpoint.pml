/*
 * The checkpoint of a projection, as src/patterns/events/storage/postgres-storage.ts moves it. A batch is one transaction: the effects
 * of its events, then the checkpoint, whose row lock is held until the end. A worker may be killed, or lose its connection
 * after it has sent the commit: then the server commits at any later time, or never. The worker reads the checkpoint and tries
 * again; leases end at any time, and another worker may do the same. Checked: each event is handled once, in order.
 *
 *     node scripts/judges/model.mjs
 */
#define WORKERS 2
#define EVENTS 3
#define CLAIMS 4
#define LOSSES 3

byte token = 0;          /* the token of the last claim */
bool leased = false;     /* the lease has not ended, by the clock of the database */
byte position = 0;       /* the checkpoint: the event that is next */
bool locked = false;     /* a transaction holds the row of the checkpoint */
byte handled[EVENTS];    /* times that the effect of an event was committed */
byte losses = 0;         /* connections that were lost after a commit was sent */

/* A commit makes the effect and the checkpoint visible together. */
inline commit(from) {
  atomic {
    assert(handled[from] == 0);
    assert(position == from);
    handled[from]++;
    position = from + 1;
    locked = false
  }
}

/* A transaction whose client is gone: the server has got its commit, or has not. */
proctype Late(byte from) {
  if
  :: commit(from)
  :: locked = false
  fi
}

proctype Worker() {
  byte mine;
  byte at;
  bool moved;
claim:
  do
  :: atomic {
       (!leased && !locked && position < EVENTS && token < CLAIMS) ->
       token++;
       leased = true;
       mine = token;
       at = position
     };
     break
  :: position == EVENTS -> goto end
  :: token == CLAIMS && !locked -> goto end
  od;

batch:
  do
  :: at == EVENTS -> goto end
  :: at < EVENTS ->
     /* update ... where token = ... and position = ...: waits for the lock, then compares */
     atomic {
       !locked ->
       if
       :: token == mine && position == at -> moved = true; locked = true
       :: else -> moved = false
       fi
     };
     if
     :: !moved -> goto claim
     :: else
     fi;
     if
     :: commit(at); at++
     :: locked = false                 /* refused, and the worker knows it */
     :: locked = false; goto end       /* killed before the commit */
     :: atomic { losses < LOSSES -> losses++; run Late(at) };
        at = position                  /* read before or after the late commit */
     :: atomic { losses < LOSSES -> losses++; run Late(at) };
        goto end                       /* killed after the commit was sent */
     fi
  od;
end:
  skip
}

proctype Time() {
end:
  do
  :: leased -> leased = false
  od
}

init {
  byte n;
  atomic {
    for (n : 1 .. WORKERS) { run Worker() }
    run Time()
  }
}
