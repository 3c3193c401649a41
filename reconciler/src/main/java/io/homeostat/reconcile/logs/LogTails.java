package io.homeostat.reconcile.logs;

import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.state.StateReader;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.reconcile.secrets.DeclaredSecrets;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

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

    /**
     * Masks the secrets that a program was given and has logged: the lines become part of events, which go to the control plane. The log
     * itself is not changed.
     */
    final class MaskedTails implements LogTails {
        private final LogTails logs;
        private final Function<WorkloadId, Optional<Declaration>> desired;
        private final StateReader store;

        /** @param store has the last good revision, which may run in place of the declared one; not closed */
        public MaskedTails(LogTails logs, Function<WorkloadId, Optional<Declaration>> desired, StateReader store) {
            this.logs = logs;
            this.desired = desired;
            this.store = store;
        }

        @Override
        public String lastLines(WorkloadId id) {
            String lines = logs.lastLines(id);
            if (lines.isEmpty()) {
                return lines;
            }
            Stream<Workload> given = Stream.concat(
                    desired.apply(id).stream().map(Declaration::workload),
                    Stream.ofNullable(store.history(id).lastKnownGood()).map(LastKnownGood::workload));
            return DeclaredSecrets.given(given.toArray(Workload[]::new)).mask(lines);
        }
    }
}
