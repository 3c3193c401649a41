package io.homeostat.sample.driver;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** All processes of a task: those of its session, and what descends from them. The executor is none of them. */
final class ProcessTree {
    private static final int TRIES = 500;
    private static final long PAUSE_MILLIS = 10;

    private final DriverState state;

    ProcessTree(DriverState state) {
        this.state = state;
    }

    /** Those that live. What left both session and tree, as a daemon does, is not found. */
    List<Proc> members() {
        Proc leader = Proc.of(state.executor());
        if (leader != null && leader.start() != state.executorStart()) {
            return List.of(); // somebody else's number, thus none of the session is left
        }
        List<Proc> all = Proc.all();
        Set<Long> found = new HashSet<>();
        int before = -1;
        while (found.size() != before) {
            before = found.size();
            for (Proc one : all) {
                if (one.pid() != state.executor()
                        && (one.session() == state.executor() || found.contains(one.parent()))) {
                    found.add(one.pid());
                }
            }
        }
        List<Proc> members = new ArrayList<>();
        for (Proc one : all) {
            if (found.contains(one.pid()) && one.isAlive()) {
                members.add(one);
            }
        }
        return members;
    }

    /** SIGKILL, again and again until none is left: they may start others meanwhile. */
    void kill() throws InterruptedException {
        for (int i = 0; i < TRIES; i++) {
            List<Proc> members = members();
            if (members.isEmpty()) {
                return;
            }
            for (Proc one : members) {
                ProcessHandle.of(one.pid()).ifPresent(ProcessHandle::destroyForcibly);
            }
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        }
        throw new TaskException("these processes can't be killed: " + members());
    }
}
