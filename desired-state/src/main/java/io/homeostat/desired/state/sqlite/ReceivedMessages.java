package io.homeostat.desired.state.sqlite;

import com.google.common.hash.Hashing;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;

/** Which messages of the control plane were stored, within one transaction. */
final class ReceivedMessages {
    /** Far more than a control plane can have under way: it waits for acknowledgements. */
    static final int REMEMBERED = 1_000;

    private ReceivedMessages() {}

    /**
     * Remembers a message, and forgets the oldest one beyond the bound.
     *
     * @param id of any length; none at all is no identity, and always new
     * @return false when it is remembered already
     */
    static boolean add(Connection connection, String id) throws SQLException {
        if (id.isEmpty()) {
            return true;
        }
        String digest = Hashing.sha256().hashString(id, StandardCharsets.UTF_8).toString();
        int added = Database.update(
                connection, "INSERT INTO received_message(digest) VALUES (?) ON CONFLICT (digest) DO NOTHING", digest);
        if (added == 1) {
            Database.update(
                    connection,
                    "DELETE FROM received_message WHERE id <= (SELECT max(id) - ? FROM received_message)",
                    REMEMBERED);
        }
        return added == 1;
    }
}
