package io.homeostat.e2e;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.nio.file.Files;
import java.nio.file.Path;

/** A pseudo terminal at which somebody types. */
final class Terminal {
    /** Of 40 rows and 100 columns, in which this line is typed; its mode before and after go to files. */
    private static final String LINE = """
            cat >line <<'END'
            stty rows 40 cols 100
            stty -g >before
            tty >tty
            %s
            echo "status $?"
            stty -g >after
            END
            mkfifo keys
            script -qfec "sh ./line" /dev/null <keys | tee shown &
            exec 3>keys
            """;

    /** Until there is such a size, some words and ^C are typed, and there is another size; then it ends with exit status 5. */
    static final String INSIDE = """
            until [ "$(stty size)" = "40 100" ]; do sleep 0.1; done
            echo ready
            read typed
            echo "got $typed"
            until [ "$(stty size)" = "50 120" ]; do sleep 0.1; done
            trap 'echo interrupted; exit 5' INT
            echo waiting
            while :; do sleep 0.1; done
            """;

    private static final String TYPING = """
            until grep -q ready shown; do sleep 0.1; done
            printf 'some words\\r' >&3
            until grep -q 'got some' shown; do sleep 0.1; done
            stty -F $(cat tty) rows 50 cols 120
            until grep -q waiting shown; do sleep 0.1; done
            printf '\\003' >&3
            """;

    private Terminal() {}

    /** Runs {@link #INSIDE} by this line, and does there what that waits for. */
    static void talksTo(Homeostat homeostat, String line) {
        typed(homeostat, line, TYPING)
                .says("got some words")
                .says("interrupted")
                .says("status 5");
    }

    /**
     * Types a line and returns when what it runs has ended and the terminal is as before.
     *
     * @param keys what happens meanwhile; what is written to descriptor 3 is typed
     */
    @CanIgnoreReturnValue
    static Result typed(Homeostat homeostat, String line, String keys) {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/script")), "no script(1) here, which makes terminals");
        String script = LINE.formatted(line) + keys + """
                until grep -q '^status' shown; do sleep 0.1; done
                exec 3>&-
                wait
                cmp before after && echo 'as before'
                """;
        return homeostat
                .checked(homeostat.shell(script).await(Patience.LONGEST))
                .says("as before");
    }
}
