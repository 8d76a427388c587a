"""The text of the pool of threads, in LLVM IR; ``pool.py`` says how it works.

The field ``room`` of a job, ``active``, the list of jobs, and all counters but ``posted`` change under the mutex.  The
fields ``next`` and ``failed`` are shared by the threads that are in a job.
"""

from __future__ import annotations

import signal
from string import Template
from typing import Final

from verified_tir.codegen.entry_control import register_of
from verified_tir.codegen.target import Target

SHARES: Final = 4
"""Parts for each thread: one that is slow, or is taken away by other work, then holds up a quarter of its share."""

SPINS: Final = 500
"""How often to look before sleeping; some 50 microseconds on x86 processors."""

_TEXT: Final = Template("""\
; what a job is: function, context, first iteration, iterations of each part, how many parts have one more, parts,
; the next part, the first part that failed with its status, active, room, the next job
%job = type { ptr, ptr, i64, i64, i64, i64, i64, i64, i32, i32, ptr }

@mutex = internal global [16 x i64] zeroinitializer, align 64
@work = internal global [16 x i64] zeroinitializer, align 64
@done = internal global [16 x i64] zeroinitializer, align 64
@jobs = internal global ptr null, align 64
@workers = internal global i32 0
@sleeping = internal global i32 0
@waiting = internal global i32 0
@posted = internal global i32 0, align 64
@vtir_most = global i32 0, align 64
@usual = internal constant i32 $usual

; Begin without workers: at first, and in a child of fork.
define void @vtir_begin() {
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call i32 @pthread_cond_init(ptr @work, ptr null)
  call i32 @pthread_cond_init(ptr @done, ptr null)
  store ptr null, ptr @jobs
  store i32 0, ptr @workers
  store i32 0, ptr @sleeping
  store i32 0, ptr @waiting
  ret void
}

define i32 @vtir_workers() {
  %n = load i32, ptr @workers
  ret i32 %n
}

define i32 @vtir_parallel(ptr %function, ptr %context, i64 %first, i64 %extent, i64 %threads) {
entry:
  %job = alloca %job, align 64
  %most = load atomic i32, ptr @vtir_most monotonic, align 4
  %most.wide = zext i32 %most to i64
  %asked = sub i64 %threads, 1
  %allowed = call i64 @llvm.umin.i64(i64 %asked, i64 %most.wide)
  %shares = mul i64 %threads, $shares
  %parts = call i64 @llvm.umin.i64(i64 %extent, i64 %shares)
  %others = sub i64 %parts, 1
  %helpers.wide = call i64 @llvm.umin.i64(i64 %allowed, i64 %others)
  %helpers = trunc i64 %helpers.wide to i32
  %alone = icmp eq i32 %helpers, 0
  br i1 %alone, label %serial, label %shared

serial:
  %end = add i64 %first, %extent
  %status.alone = call i32 %function(ptr %context, i64 %first, i64 %end)
  ret i32 %status.alone

shared:
  %whole = udiv i64 %extent, %parts
  %rest = urem i64 %extent, %parts
  %job.0 = insertvalue %job zeroinitializer, ptr %function, 0
  %job.1 = insertvalue %job %job.0, ptr %context, 1
  %job.2 = insertvalue %job %job.1, i64 %first, 2
  %job.3 = insertvalue %job %job.2, i64 %whole, 3
  %job.4 = insertvalue %job %job.3, i64 %rest, 4
  %job.5 = insertvalue %job %job.4, i64 %parts, 5
  %job.6 = insertvalue %job %job.5, i64 -1, 7
  %job.7 = insertvalue %job %job.6, i32 %helpers, 9
  store %job %job.7, ptr %job
  %at.failed = getelementptr %job, ptr %job, i64 0, i32 7
  %at.active = getelementptr %job, ptr %job, i64 0, i32 8
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %grow

grow:
  %have = load i32, ptr @workers
  %enough = icmp uge i32 %have, %helpers
  br i1 %enough, label %post, label %more

more:
  %started = call i1 @start()
  br i1 %started, label %grow, label %post

post:
  %at.link = getelementptr %job, ptr %job, i64 0, i32 10
  %head = load ptr, ptr @jobs
  store ptr %head, ptr %at.link
  store ptr %job, ptr @jobs
  atomicrmw add ptr @posted, i32 1 release
  %asleep = load i32, ptr @sleeping
  %wanted = call i32 @llvm.umin.i32(i32 %asleep, i32 %helpers)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %waking

waking:
  %left = phi i32 [ %wanted, %post ], [ %left.next, %wake ]
  %none = icmp eq i32 %left, 0
  br i1 %none, label %own, label %wake

wake:
  call i32 @pthread_cond_signal(ptr @work)
  %left.next = sub i32 %left, 1
  br label %waking

own:
  call void @take(ptr %job)
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %search

search:
  %place = phi ptr [ @jobs, %own ], [ %at.other, %further ]
  %other = load ptr, ptr %place
  %found = icmp eq ptr %other, %job
  br i1 %found, label %remove, label %further

further:
  %at.other = getelementptr %job, ptr %other, i64 0, i32 10
  br label %search

remove:
  %following = load ptr, ptr %at.link
  store ptr %following, ptr %place
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %spin

spin:
  %k = phi i32 [ $spins, %remove ], [ %k.next, %pause ]
  %active = load atomic i32, ptr %at.active acquire, align 4
  %idle = icmp eq i32 %active, 0
  br i1 %idle, label %finished, label %pause

pause:
  $pause
  %k.next = sub i32 %k, 1
  %late = icmp eq i32 %k.next, 0
  br i1 %late, label %lock, label %spin

lock:
  call i32 @pthread_mutex_lock(ptr @mutex)
  %w = load i32, ptr @waiting
  %w.more = add i32 %w, 1
  store i32 %w.more, ptr @waiting
  br label %check

check:
  %busy = load atomic i32, ptr %at.active acquire, align 4
  %over = icmp eq i32 %busy, 0
  br i1 %over, label %unlock, label %wait

wait:
  call i32 @pthread_cond_wait(ptr @done, ptr @mutex)
  br label %check

unlock:
  %v = load i32, ptr @waiting
  %v.less = sub i32 %v, 1
  store i32 %v.less, ptr @waiting
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %finished

finished:
  %failed = load atomic i64, ptr %at.failed acquire, align 8
  %fine = icmp eq i64 %failed, -1
  %status = trunc i64 %failed to i32
  %result = select i1 %fine, i32 0, i32 %status
  ret i32 %result
}

; Do parts of a job until none is left.
define internal void @take(ptr %job) {
entry:
  %at.function = getelementptr %job, ptr %job, i64 0, i32 0
  %function = load ptr, ptr %at.function
  %at.context = getelementptr %job, ptr %job, i64 0, i32 1
  %context = load ptr, ptr %at.context
  %at.first = getelementptr %job, ptr %job, i64 0, i32 2
  %first = load i64, ptr %at.first
  %at.whole = getelementptr %job, ptr %job, i64 0, i32 3
  %whole = load i64, ptr %at.whole
  %at.rest = getelementptr %job, ptr %job, i64 0, i32 4
  %rest = load i64, ptr %at.rest
  %at.parts = getelementptr %job, ptr %job, i64 0, i32 5
  %parts = load i64, ptr %at.parts
  %at.next = getelementptr %job, ptr %job, i64 0, i32 6
  %at.failed = getelementptr %job, ptr %job, i64 0, i32 7
  br label %next

next:
  %k = atomicrmw add ptr %at.next, i64 1 monotonic
  %some = icmp ult i64 %k, %parts
  br i1 %some, label %part, label %end

part:
  %before = mul i64 %k, %whole
  %longer = call i64 @llvm.umin.i64(i64 %k, i64 %rest)
  %offset = add i64 %before, %longer
  %low = add i64 %first, %offset
  %is.longer = icmp ult i64 %k, %rest
  %one = zext i1 %is.longer to i64
  %size = add i64 %whole, %one
  %high = add i64 %low, %size
  %status = call i32 %function(ptr %context, i64 %low, i64 %high)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %next, label %fails

fails:
  %number = shl i64 %k, 32
  %bits = zext i32 %status to i64
  %which = or i64 %number, %bits
  atomicrmw umin ptr %at.failed, i64 %which release
  br label %next

end:
  ret void
}

; Start a worker, with the mutex held; whether that was possible.
define internal i1 @start() {
  %handle = alloca i64
  %blocked = alloca [16 x i64]
  %before = alloca [16 x i64]
  call i32 @sigfillset(ptr %blocked)
$faults
  call i32 @pthread_sigmask(i32 $setmask, ptr %blocked, ptr %before)
  %error = call i32 @pthread_create(ptr %handle, ptr null, ptr @worker, ptr null)
  call i32 @pthread_sigmask(i32 $setmask, ptr %before, ptr null)
  %created = icmp eq i32 %error, 0
  br i1 %created, label %count, label %end

count:
  %thread = load i64, ptr %handle
  call i32 @pthread_detach(i64 %thread)
  %n = load i32, ptr @workers
  %n.more = add i32 %n, 1
  store i32 %n.more, ptr @workers
  br label %end

end:
  ret i1 %created
}

; What a worker does until the process ends.
define internal ptr @worker(ptr %nothing) {
entry:
  $control
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %look

look:
  %head = load ptr, ptr @jobs
  br label %search

search:
  %job = phi ptr [ %head, %look ], [ %link, %further ]
  %none = icmp eq ptr %job, null
  br i1 %none, label %rest, label %ask

ask:
  %at.parts = getelementptr %job, ptr %job, i64 0, i32 5
  %parts = load i64, ptr %at.parts
  %at.next = getelementptr %job, ptr %job, i64 0, i32 6
  %next = load atomic i64, ptr %at.next monotonic, align 8
  %left = icmp ult i64 %next, %parts
  %at.room = getelementptr %job, ptr %job, i64 0, i32 9
  %room = load i32, ptr %at.room
  %open = icmp ne i32 %room, 0
  %join = and i1 %left, %open
  br i1 %join, label %joins, label %further

further:
  %at.link = getelementptr %job, ptr %job, i64 0, i32 10
  %link = load ptr, ptr %at.link
  br label %search

joins:
  %room.less = sub i32 %room, 1
  store i32 %room.less, ptr %at.room
  %at.active = getelementptr %job, ptr %job, i64 0, i32 8
  atomicrmw add ptr %at.active, i32 1 monotonic
  call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @take(ptr %job)
  call i32 @pthread_mutex_lock(ptr @mutex)
  %active = atomicrmw sub ptr %at.active, i32 1 release
  %last = icmp eq i32 %active, 1
  %waiting = load i32, ptr @waiting
  %awaited = icmp ne i32 %waiting, 0
  %tell = and i1 %last, %awaited
  br i1 %tell, label %tells, label %look

tells:
  call i32 @pthread_cond_broadcast(ptr @done)
  br label %look

rest:
  %seen = load i32, ptr @posted
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %spin

spin:
  %k = phi i32 [ $spins, %rest ], [ %k.next, %pause ]
  %now = load atomic i32, ptr @posted acquire, align 4
  %new = icmp ne i32 %now, %seen
  br i1 %new, label %again, label %pause

pause:
  $pause
  %k.next = sub i32 %k, 1
  %late = icmp eq i32 %k.next, 0
  br i1 %late, label %tired, label %spin

again:
  call i32 @pthread_mutex_lock(ptr @mutex)
  br label %look

tired:
  call i32 @pthread_mutex_lock(ptr @mutex)
  %then = load i32, ptr @posted
  %missed = icmp ne i32 %then, %seen
  br i1 %missed, label %look, label %sleeps

sleeps:
  %s = load i32, ptr @sleeping
  %s.more = add i32 %s, 1
  store i32 %s.more, ptr @sleeping
  call i32 @pthread_cond_wait(ptr @work, ptr @mutex)
  %t = load i32, ptr @sleeping
  %t.less = sub i32 %t, 1
  store i32 %t.less, ptr @sleeping
  br label %look
}

declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i64 @llvm.umin.i64(i64, i64)
declare i32 @llvm.umin.i32(i32, i32)
""")

_FAULTS: Final = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
"""Signals that a thread brings upon itself; blocked ones would end the process without a report of ``faulthandler``."""


def pool_text(target: Target) -> str:
    """The pool as an LLVM module.

    :raises CodegenError: if the processor's control register is not known.
    """
    usual = register_of(target.triple).usual
    if target.is_x86:
        pause = 'call void asm sideeffect "pause", ""()'
        control = 'call void asm sideeffect "ldmxcsr $0", "*m"(ptr elementtype(i32) @usual)'
    else:
        pause = 'call void asm sideeffect "isb", ""()'
        control = f'call void asm sideeffect "msr fpcr, $0", "r"(i64 {usual})'
    faults = "\n".join(f"  call i32 @sigdelset(ptr %blocked, i32 {int(number)})" for number in _FAULTS)
    return f'target triple = "{target.triple}"\n' + _TEXT.substitute(
        usual=usual, shares=SHARES, spins=SPINS, pause=pause, control=control, faults=faults,
        setmask=int(signal.SIG_SETMASK),
    )  # fmt: skip
