package io.homeostat.reconcile.command.environment;

import io.homeostat.observe.process.TerminalMode.Size;
import io.homeostat.reconcile.command.environment.Environment.Interrupts.Guard;
import java.util.Optional;

/** The terminal that a command is typed at. */
public interface Terminal {
    /** Whether standard input is one. */
    boolean isInput();

    /** Until the guard is closed every byte comes as it is typed, unseen, also those that are signals as a rule. */
    Guard raw();

    /** How large it is now, if it knows. */
    Optional<Size> size();

    /**
     * Until the guard is closed, tells whenever it may have another size. It does not tell which: two changes may be told of at once.
     *
     * @param changed called from any thread, and must not wait
     */
    Guard onResize(Runnable changed);

    static Terminal none() {
        return new Terminal() {
            @Override
            public boolean isInput() {
                return false;
            }

            @Override
            public Guard raw() {
                return () -> {};
            }

            @Override
            public Optional<Size> size() {
                return Optional.empty();
            }

            @Override
            public Guard onResize(Runnable changed) {
                return () -> {};
            }
        };
    }
}
