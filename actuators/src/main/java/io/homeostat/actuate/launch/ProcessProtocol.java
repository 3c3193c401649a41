package io.homeostat.actuate.launch;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.state.Instance;
import io.homeostat.observe.process.Account;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How one speaks with the processes of a kind. */
public interface ProcessProtocol {
    /** They are told nothing and end by signals. */
    ProcessProtocol NONE = new ProcessProtocol() {};

    /** What a process says when it is asked to end. */
    enum Answer {
        NOT_ASKED,
        AGREED,
        /** It refused, or did not answer. */
        REFUSED
    }

    /**
     * Prepares a launch.
     *
     * @param account as which it will run; null for our own user
     * @throws IllegalStateException when it can't work here
     */
    default Preparation prepare(Instance instance, @Nullable Account account) throws IOException {
        return Preparation.NONE;
    }

    /**
     * What a launch needs beside what is declared.
     *
     * @param arguments after the declared ones
     * @param env instead of declared variables of these names
     * @param withheld names of variables that it must not get
     * @param speaks whether its standard output is for us, and goes to {@link
     *     io.homeostat.observe.process.LaunchDirectory#outputFile} instead of its log
     */
    record Preparation(
            ImmutableList<String> arguments,
            ImmutableMap<String, String> env,
            ImmutableSet<String> withheld,
            boolean speaks) {
        static final Preparation NONE =
                new Preparation(ImmutableList.of(), ImmutableMap.of(), ImmutableSet.of(), false);

        /** Nothing but arguments. */
        static Preparation of(String... arguments) {
            return new Preparation(ImmutableList.copyOf(arguments), ImmutableMap.of(), ImmutableSet.of(), false);
        }
    }

    /**
     * Asks a process to end, unless it can't be asked.
     *
     * @param cleanup whether it should leave nothing behind, because its workload is being removed
     * @param timeout within which it has to answer and to end
     */
    default Answer stop(Instance instance, boolean cleanup, Duration timeout) throws InterruptedException {
        return Answer.NOT_ASKED;
    }

    /** Removes what an ended instance has left of what was prepared. */
    default void ended(Instance instance) throws IOException {}
}
