package io.homeostat.reconcile.command.start;

import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.secrets.SecretForms;

/** A line of a file in sections: {@code [section]}, then {@code key=value}. */
record Setting(String section, String key, String value, String file, int line) {
    /** For messages: without what may be a secret. */
    String written() {
        boolean secret =
                SecretForms.isName(key) || key.equalsIgnoreCase("environment") || key.startsWith("SetCredential");
        // A command may have a password in it.
        boolean command = key.startsWith("Exec") || key.equals("command");
        return secret || command ? key : key + "=" + value;
    }

    /** Without the value: a command may have a password in it. */
    CommandFailure failure(String words) {
        return SourceFile.failure(file, line, key + ": " + words);
    }

    void notTaken(Draft draft, String why) {
        draft.notTaken(file, line, written(), why);
    }
}
