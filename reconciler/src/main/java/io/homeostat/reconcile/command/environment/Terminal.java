package io.homeostat.reconcile.command.environment;

import io.homeostat.reconcile.command.environment.Environment.Interrupts.Guard;

/** The terminal that a command is typed at. */
public interface Terminal {
    /** Whether standard input is one. */
    boolean isInput();

    /** Until the guard is closed every byte comes as it is typed, unseen, also those that are signals as a rule. */
    Guard raw();

    /** Until the guard is closed, tells how large it is, if it knows, and again whenever that changes. */
    Guard sizes(SizeListener listener);

    /** Told from any thread, and must not wait. */
    @FunctionalInterface
    interface SizeListener {
        void sized(int rows, int columns);
    }

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
            public Guard sizes(SizeListener listener) {
                return () -> {};
            }
        };
    }
}
