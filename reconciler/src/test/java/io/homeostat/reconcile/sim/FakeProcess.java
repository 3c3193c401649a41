package io.homeostat.reconcile.sim;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.Identity;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.ObservedInstance.Loss;
import io.homeostat.observe.health.Health;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Work;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One launch on the fake machine: the notes beside it, the process that comes of it, and what it leaves behind. */
final class FakeProcess {
    /** Under which a launch says what it depends on. */
    static final String NEEDS = "dependsOn";
    /** Under which a launch says in which instance of its parent it was. */
    private static final String PARENT = "parent";

    private static final String FILE = "file ";

    final Instance launched;
    final String bootId;
    final Behaviour behaviour;
    /** In steady milliseconds; until then somebody of ours is at work to bring it about. */
    final long bornAt;

    /** What the notes say, for an agent that has lost its database. */
    Instance note;

    boolean identityOnDisk = true;
    boolean exitOnDisk = true;
    int starts;
    int survivors;
    Health.Verdict feels = Health.Verdict.HEALTHY;
    /** Whether a health check has ever had anything else than good news of it. */
    boolean doubted;

    private boolean seen;

    /** Whether it has once come as far as a good one. */
    boolean worked;
    /** Whether the agent has ended it. */
    boolean stopped;
    /** The same, also when that agent has died since. */
    boolean signalled;

    /** Whether the agent has noted that it has ended, because nobody else knew it by then. */
    boolean endNoted;

    /** What was deleted while it held it open. */
    final Set<Loss> lost = EnumSet.noneOf(Loss.class);

    /** In steady milliseconds, when it is over. */
    long endedAt;

    /** The processes of this machine that its guest runs in. */
    ImmutableList<WorkloadId> hosts = ImmutableList.of();

    String configHash = "";
    /** Whether somebody has changed what it was given. */
    boolean deviates;

    Limits limits = Limits.NONE;

    /** Null until it is born. */
    @Nullable
    ProcessIdentity identity;

    /** Null until it is over. */
    @Nullable
    Exit exit;

    FakeProcess(Instance launched, Behaviour behaviour, String bootId, long bornAt) {
        this.launched = launched;
        this.note = launched;
        this.bootId = bootId;
        this.bornAt = bornAt;
        this.behaviour = behaviour;
    }

    /**
     * Before a plugin was started it has no socket that anybody relies on; a program of no protocol has none at all. What somebody else
     * runs for us prints what is copied to a log that it does not know; only a sandbox has an agent to lose.
     */
    void lose(Loss loss) {
        boolean has = switch (loss) {
            case SOCKET -> starts > 0;
            case LOG -> !Kinds.isRunByOthers(launched.workload()) || starts > 0;
            case GUEST_AGENT, SHARED_PIDS -> Kinds.isSandbox(launched.workload());
        };
        if (has) {
            lost.add(loss);
        }
    }

    /** Steady milliseconds from birth until it ends by itself. A plugin that is done says so, and goes on until it is stopped. */
    long livesFor() {
        boolean waits =
                behaviour == Behaviour.FINISHES && launched.workload().kind().equals(Kind.PLUGIN);
        return waits ? Long.MAX_VALUE : behaviour.livesFor();
    }

    /** The status code of a plugin, at an age. */
    int code(long age) {
        boolean busy = behaviour == Behaviour.ENDLESS || behaviour == Behaviour.FAILS || age < Behaviour.TAKES;
        return behaviour.runsToItsEnd() && busy ? 1 : 0;
    }

    /** Whether it is seen for the first time that the program of a one-shot has begun: all that it has to prove. */
    boolean runsNow() {
        boolean first = !seen
                && identity != null
                && Work.isOneShot(launched)
                && !launched.workload().kind().equals(Kind.PLUGIN);
        seen |= first;
        return first;
    }

    /** The instance of its parent that it was launched in; empty when it has none. */
    static String parent(Instance instance) {
        return instance.inputs().getOrDefault(PARENT, "");
    }

    /** Whether it runs as is declared, whatever it depends on or is part of: that may change while it runs. */
    static boolean isLaunchedAs(Workload workload, Instance instance) {
        return instance.revision().equals(workload.revision())
                && Maps.filterKeys(
                                instance.inputs(),
                                key -> !key.equals(NEEDS) && !key.equals(PARENT) && !key.startsWith(FILE))
                        .equals(LaunchInputs.of(workload));
    }

    /** What the file that it was launched with held, as it was written down; null when it reads none. */
    static @Nullable String file(Instance instance) {
        return instance.inputs().get(FILE + FakeDisk.FILE);
    }

    /** Whether it ended by itself with exit status 0. */
    boolean isDone() {
        return exit != null && exit.isSuccess() && !signalled;
    }

    /** What is told to start has done nothing before. */
    boolean hasBegun() {
        return starts > 0 || !Kinds.isToldToStart(launched.workload());
    }

    /** As an instance of its kind is found again; null until it is born. */
    @Nullable
    Identity named() {
        ProcessIdentity born = identity;
        WorkloadId id = launched.workload();
        if (born == null || !Kinds.isRunByOthers(id)) {
            return born;
        }
        if (Kinds.isTask(id)) {
            return new Identity.Task(Wish.DRIVER, launched.launchId(), "handle", null, bootId);
        }
        return Kinds.isSandbox(id)
                ? new Identity.Sandbox("unix:///run/guest.sock", born.startTicks(), true, bootId)
                : new Identity.Container("unix:///run/guest.sock", launched.launchId(), true, bootId);
    }

    /** Whether it ends when this one does, because it is in it: a container in its sandbox, a guest in the process that runs it. */
    boolean isIn(FakeProcess other) {
        WorkloadId id = launched.workload();
        return Kinds.isContainer(id)
                ? other.launched.launchId().equals(parent(launched))
                : hosts.contains(other.launched.workload());
    }

    boolean unborn() {
        return identity == null && exit == null;
    }

    boolean alive() {
        return identity != null && exit == null;
    }

    /** Anything of it runs or is about to. */
    boolean present() {
        return exit == null || survivors > 0;
    }

    @Override
    public String toString() {
        return launched.launchId() + " of " + launched.revision() + " " + identity
                + (exit == null ? "" : " over: " + exit.words());
    }
}
