package io.homeostat.sample.driver;

import io.homeostat.proto.nomad.driver.ExitResult;
import java.time.Instant;

/**
 * How a task ended.
 *
 * @param code its exit status; 128 and the signal when one ended it, as Nomad's own drivers say; -1 when nobody knows
 * @param signal 0 when none ended it
 * @param error why nobody knows, else empty
 */
record Ending(int code, int signal, String error, Instant at) {
    private static final int BY_SIGNAL = 128;

    /** As the executor writes it: exit status, signal. Throws IllegalArgumentException. */
    static Ending parse(String text, Instant at) {
        String[] numbers = text.trim().split(" ", -1);
        if (numbers.length != 2) {
            throw new IllegalArgumentException("not an exit status and a signal: " + text);
        }
        int signal = Integer.parseInt(numbers[1]);
        return new Ending(signal == 0 ? Integer.parseInt(numbers[0]) : BY_SIGNAL + signal, signal, "", at);
    }

    static Ending unknown(String error, Instant at) {
        return new Ending(-1, 0, error, at);
    }

    ExitResult result() {
        return ExitResult.newBuilder().setExitCode(code).setSignal(signal).build();
    }

    String words() {
        if (!error.isEmpty()) {
            return "Ended, nobody knows how: " + error;
        }
        return signal == 0 ? "Exited with " + code : "Ended by signal " + signal;
    }
}
