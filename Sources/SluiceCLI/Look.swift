#if CommandLineTool
internal import ArgumentParser

/// A verb that only prints an answer: if the answer is lost, the verb has failed.
protocol Look {}
#endif
