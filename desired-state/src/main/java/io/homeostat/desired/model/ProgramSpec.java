package io.homeostat.desired.model;

import org.jspecify.annotations.Nullable;

/** A kind of workload that is a program on this host, launched by us. */
public interface ProgramSpec extends WorkloadSpec {
    Program program();

    /** The user that a program runs as; null when that is the agent's, and where it is not we who launch it. */
    static @Nullable String user(WorkloadSpec spec) {
        return spec instanceof ProgramSpec program ? program.program().user() : null;
    }

    @Override
    default String revision() {
        return program().revision();
    }

    @Override
    default @Nullable Source source() {
        return program().source();
    }
}
