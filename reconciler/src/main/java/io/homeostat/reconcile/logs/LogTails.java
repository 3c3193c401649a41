package io.homeostat.reconcile.logs;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.ProgramUser;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance;
import io.homeostat.observe.files.FileContent;
import io.homeostat.observe.files.FileContents;
import io.homeostat.reconcile.plan.LaunchInputs;
import io.homeostat.reconcile.plan.Situation;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import io.homeostat.reconcile.secrets.LaunchedValues;
import io.homeostat.reconcile.secrets.SecretMask;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The end of a workload's log. */
public interface LogTails {
    /** How many lines a message quotes. */
    int WORDS_LINES = 3;

    /** How much of them. */
    int WORDS_CHARACTERS = 300;

    /** The last lines, at most 30, and those of its log of errors, if it has one; empty when there are none or they can't be read. */
    String lastLines(WorkloadId id);

    /** The very last lines in one, for messages; empty when there are none. */
    default String lastWords(WorkloadId id) {
        List<String> lines = lastLines(id)
                .lines()
                .map(String::strip)
                .filter(line -> !line.isEmpty())
                .toList();
        String words = String.join(" | ", lines.subList(Math.max(0, lines.size() - WORDS_LINES), lines.size()));
        return words.length() <= WORDS_CHARACTERS ? words : "..." + words.substring(words.length() - WORDS_CHARACTERS);
    }

    /** Of what was seen to have ended, in case something of it has to be told; empty when nothing has. */
    default String lastWords(Situation seen) {
        boolean ended = seen.seen().instances()
                        instanceof Observation.Seen<ImmutableList<ObservedInstance>>(var instances)
                && instances.stream().anyMatch(one -> one.liveness() instanceof ObservedInstance.Liveness.Ended);
        return ended ? lastWords(seen.id()) : "";
    }

    /**
     * Masks the secrets that a program was given and has logged: the lines become part of events, which go to the control plane. The log
     * itself is not changed. Where nobody knows any more what a program was given, a sentence stands in place of the lines.
     */
    final class MaskedTails implements LogTails {
        private static final Logger LOG = LoggerFactory.getLogger(MaskedTails.class);

        private final LogTails logs;
        private final Function<WorkloadId, Optional<Declaration>> desired;
        private final StateReader store;
        private final LaunchedValues launched;

        /**
         * @param store has the last good revision, which may run in place of the declared one; not closed
         * @param launched what this process has launched programs with
         */
        public MaskedTails(
                LogTails logs,
                Function<WorkloadId, Optional<Declaration>> desired,
                StateReader store,
                LaunchedValues launched) {
            this.logs = logs;
            this.desired = desired;
            this.store = store;
            this.launched = launched;
        }

        @Override
        public String lastLines(WorkloadId id) {
            String lines = logs.lastLines(id);
            if (lines.isEmpty()) {
                return lines;
            }
            Optional<Workload> declared = desired.apply(id).map(Declaration::workload);
            ProgramUser user =
                    declared.map(workload -> workload.spec().runsAs()).orElse(null);
            Optional<String> changed = store.instances(id).stream()
                    .filter(instance -> !launched.knows(instance))
                    .flatMap(instance -> LaunchInputs.files(instance).entrySet().stream())
                    .filter(file -> !holds(user, file.getKey(), file.getValue()))
                    .map(Map.Entry::getKey)
                    .findFirst();
            if (changed.isPresent()) {
                return "(the end of the log is left out: " + changed.get()
                        + " is not what the program was launched with, so it is not known what is secret; see homeostat logs "
                        + id + ")";
            }
            SecretMask mask = DeclaredSecrets.everGiven(declared.stream(), store.history(id), store.revisions(id));
            launched.learn(id, mask);
            return mask.mask(lines);
        }

        private static boolean holds(@Nullable ProgramUser user, String path, String sha256) {
            try {
                return FileContent.of(FileContents.read(user, path)) instanceof FileContent.Present present
                        && present.sha256().equals(sha256);
            } catch (IOException e) {
                LOG.debug("what is secret in {} can't be masked: {}", path, e.getMessage());
                return false;
            }
        }
    }
}
