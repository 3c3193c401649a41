package io.homeostat.reconcile.plan;

import io.homeostat.desired.state.history.ProvenRevision;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.install.Installation;
import org.jspecify.annotations.Nullable;

/** Why a target is not what runs: compares it with the process that is there, else with the last revision seen well. */
final class Causes {
    private final @Nullable ProvenRevision proven;
    private final Target target;
    private final Draft draft;

    Causes(@Nullable ProvenRevision proven, Target target, Draft draft) {
        this.proven = proven;
        this.target = target;
        this.draft = draft;
    }

    /** Whether the target itself has been seen well. */
    boolean isProven() {
        return proven != null && proven.hash().equals(target.hash());
    }

    void name(@Nullable ObservedInstance current) {
        if (target.damaged() != null) {
            nameDamage();
        } else if (isProven()) {
            draft.because(Action.REINSTALL, Reason.INSTALL_MISSING, "its installation is gone");
        } else if (current != null) {
            nameChange(LaunchInputs.difference(current.instance(), target.workload(), target.directory())
                    .orElse(Reason.CONTENT_CHANGED));
        } else if (proven != null) {
            nameChange(LaunchInputs.difference(proven, target.workload(), target.directory())
                    .orElse(Reason.CONFIG_CHANGED));
        } else if (target.key() == null) {
            draft.because(Action.INSTALL, Reason.NOT_INSTALLED, "not running");
        } else {
            draft.because(Action.INSTALL, Reason.NOT_INSTALLED, "not installed");
        }
    }

    void nameDamage() {
        draft.because(Action.REINSTALL, Reason.INSTALL_DAMAGED, damage());
    }

    /** Which file is not what was unpacked. */
    String damage() {
        Installation damaged = target.damaged();
        return damaged == null ? "" : "its installation is damaged: " + damaged.damage();
    }

    void nameChange(Reason difference) {
        switch (difference) {
            case REVISION_CHANGED -> draft.because(Action.UPGRADE, difference, "revision changed");
            case CONTENT_CHANGED -> draft.because(Action.REINSTALL, difference, "the archive of this revision changed");
            case ARGUMENTS_CHANGED -> draft.because(Action.RESTART, difference, "arguments changed");
            case ENVIRONMENT_CHANGED -> draft.because(Action.RESTART, difference, "environment changed");
            case USER_CHANGED -> draft.because(Action.RESTART, difference, "user changed");
            case ENTRY_POINT_CHANGED -> draft.because(Action.RESTART, difference, "entry point changed");
            default -> draft.because(Action.RESTART, difference, "its declaration changed");
        }
    }
}
