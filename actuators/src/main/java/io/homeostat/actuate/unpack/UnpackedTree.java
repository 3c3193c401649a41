package io.homeostat.actuate.unpack;

import io.homeostat.actuate.Disk;
import io.homeostat.actuate.SecureDirectories;
import io.homeostat.actuate.archive.ArchiveFormat;
import io.homeostat.actuate.archive.Sha256;
import io.homeostat.actuate.unpack.StagedTree.Node;
import io.homeostat.actuate.unpack.UnpackLimits.UnpackBudget;
import io.homeostat.observe.install.FileList;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Set;

/**
 * A whole archive in a directory, with the list of its contents, durable.
 *
 * @param files the hash of that list
 */
record UnpackedTree(Path root, Map<String, Node> nodes, String files) {
    /** Adds the entries of an archive to a tree. */
    @FunctionalInterface
    interface Content {
        void read(StagedTree tree, UnpackBudget budget) throws IOException, RefusedArchive, InterruptedException;
    }

    /** @param root an empty directory that is ours alone */
    static UnpackedTree of(Content content, Path root, UnpackBudget budget, Disk disk)
            throws IOException, RefusedArchive, InterruptedException {
        StagedTree tree;
        try (Sha256 sha256 = Sha256.start()) {
            tree = new StagedTree(root, budget, sha256);
            budget.requireRoom(root);
            content.read(tree, budget);
            tree.finish();
        }
        String files = list(tree, root.resolve(FileList.FILE));
        disk.syncTree(root);
        return new UnpackedTree(root, tree.nodes(), files);
    }

    static RefusedArchive noArchive(byte[] head) {
        return new RefusedArchive("it is no tar.gz, tar or zip: " + ArchiveFormat.describe(head));
    }

    private static String list(StagedTree tree, Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(
                        file,
                        Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                        SecureDirectories.OUR_FILE);
                FileList.Writer files = new FileList.Writer(Channels.newOutputStream(channel))) {
            tree.list(files);
            return files.finish();
        }
    }
}
