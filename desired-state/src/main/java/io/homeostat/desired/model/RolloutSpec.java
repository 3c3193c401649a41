package io.homeostat.desired.model;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Fields.Default;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.NamesWorkload;
import io.homeostat.desired.model.schema.Fields.Range;
import io.homeostat.desired.model.schema.Portion;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How machines of a fleet get from one revision of workloads to another one, some at a time. */
@Doc("How machines of a fleet get from one revision of workloads to another one, some at a time.")
public record RolloutSpec(
        @Doc("The workloads, each declared in the same set at both revisions.") @NamesWorkload @Range(min = 1)
        ImmutableList<String> workloads,

        @Doc("The revision that machines keep until it is their turn, and go back to when it fails.")
        @Matches(value = "[A-Za-z0-9._-]{1,64}", words = "1 to 64 letters, digits, '.', '_' or '-'")
        String from,

        @Doc("The revision that machines get.")
        @Matches(value = "[A-Za-z0-9._-]{1,64}", words = "1 to 64 letters, digits, '.', '_' or '-'")
        String to,

        @Doc(
                "How many machines have the new revision when a wave is through, each more than the one before; the last is 100%.")
        @Default("[1, 10%, 50%, 100%]")
        @Range(min = 1)
        ImmutableList<Portion> waves,

        @Doc("How long all machines of a wave have to be well before the next one opens.") @Default("5m")
        Duration hold,

        @Doc("How long a machine may take from the opening of its wave until it is well; then it counts as failed.")
        @Default("30m")
        @Range(min = 1000)
        Duration timeout,

        @Doc("What is asked of a machine that has the new revision.") @Default("[healthy, converged, noRestarts]")
        ImmutableList<Need> health,

        @Doc(
                "How many machines may fail, or which percentage, rounded down, of those whose wave is open; one more stops it.")
        @Default("0")
        Portion maxFailures,

        @Doc("What happens then. halt: no more machines get the new revision. rollBack: those that have it go back.")
        @Default("halt")
        OnFailure onFailure,

        @Doc(
                "Decides with the machines' ids which come first: with the same seed the same. The rollout's name when left out.")
        @Nullable
        String seed) {

    /** Whether this is one of the two. */
    public boolean hasRevision(String revision) {
        return revision.equals(from) || revision.equals(to);
    }

    /** What is asked of a machine. */
    public enum Need {
        HEALTHY,
        CONVERGED,
        NO_RESTARTS
    }

    /** What happens when too many machines have failed. */
    public enum OnFailure {
        HALT,
        ROLL_BACK
    }
}
