#if CommandLineTool
/// What is said: ten conversations, written before the demo begins, and some messages typed while it runs.
enum Script {
    struct Conversation {
        var name: String
        /// One message a line.
        var texts: String

        var messages: [SendMessage] {
            texts.split(separator: "\n").enumerated().map { index, text in
                SendMessage(conversation: name, number: index + 1, text: String(text))
            }
        }
    }

    /// A message typed later.
    struct Typed {
        /// It is typed when the server has so many messages: a count, not a time, so that a slow machine sees
        /// the same play as a fast one.
        var whenDelivered: Int
        var conversation: String
        var text: String
    }

    static let typed = [
        Typed(whenDelivered: 12, conversation: "Ana", text: "PS: bring the big umbrella"),
        Typed(whenDelivered: 35, conversation: "Chess club", text: "And who has the clocks?"),
        Typed(whenDelivered: 75, conversation: "Dad", text: "The train is on time, would you believe it"),
        Typed(whenDelivered: 100, conversation: "Choir", text: "Found the folder. It was under the cat."),
        Typed(whenDelivered: 120, conversation: "Garden", text: "A hedgehog! By the compost!"),
    ]

    /// This one is typed while no worker lives.
    static let typedIntoTheVoid = (conversation: "Bo", text: "Hello? Is this thing on?")

    static let conversations = [
        Conversation(
            name: "Ana",
            texts: """
                Are you up already?
                I dreamt we missed the ferry
                So I have packed everything twice
                Sandwiches: cheese or cheese?
                Cheese it is
                The forecast says sun until four
                After that it says nothing, which worries me
                I'll take the red raincoat
                And the kite, just in case
                Did you find the map?
                Never mind, it's in my shoe
                Leaving at half past nine
                Meet you under the clock
                I can already see the water
                """
        ),
        Conversation(
            name: "Bo",
            texts: """
                Your bike is ready
                New chain, new brakes, same squeak
                I think the squeak is the saddle
                Or you
                The bell now works in the rain
                I also washed it
                It turns out that it's blue
                Pick it up whenever you like
                I'm here until six
                Tomorrow too
                No hurry, really
                It keeps the other bikes company
                Bring cake and we're even
                Any cake
                """
        ),
        Conversation(
            name: "Chess club",
            texts: """
                Thursday, seven o'clock, the usual table
                Marta brings the boards
                I bring biscuits
                Last week's puzzle: knight to f6
                No, I'm not making that up
                Yes, it loses the queen
                But look two moves further
                There is a beginner joining us
                She is nine
                She beat me on Sunday
                Twice
                So be kind to her
                And watch your bishops
                See you all there
                """
        ),
        Conversation(
            name: "Choir",
            texts: """
                The hall has heating again
                Please bring your own cup
                We start with the slow one
                Altos: page eleven, the second ending
                Tenors: we know, and we forgive you
                The concert is on the twentieth
                Black clothes, something red
                The piano has been tuned
                It has opinions about B flat
                Has anybody seen the blue folder?
                It has all the descants
                I'll look in the car
                It is not in the car
                Sing anyway
                """
        ),
        Conversation(
            name: "Dad",
            texts: """
                I'm on the twelve o'clock train
                Seat by the window
                Yes, I have eaten
                Yes, something warm
                I have your book with me
                I finished it, don't tell me you haven't
                The gardener did it
                Sorry
                I'll be there at ten past three
                You needn't come to the station
                All right, come to the station
                Platform four
                I'm the one with the enormous plant
                It's a surprise
                """
        ),
        Conversation(
            name: "Garden",
            texts: """
                The beans are up!
                All of them, I counted
                The snails counted too
                I've put the tomatoes outside for the day
                And brought them in again
                And put them outside again
                Water is off until Friday
                The barrel is full, use that
                Somebody left a very good spade
                If it's yours it's by the shed
                If it's nobody's it's mine
                The rhubarb is ready
                Take as much as you can carry
                Then take some more
                """
        ),
        Conversation(
            name: "Landlord",
            texts: """
                Good morning, it's about the boiler
                It sings again
                A low note, around six
                We don't mind the note
                We mind the cold
                Thank you for the quick answer
                Wednesday is fine
                Before noon is better
                The key is with the neighbours
                They have a dog, a friendly one
                The boiler is behind the blue door
                It's warm again, thank you
                It still sings a little
                We've given it a name
                """
        ),
        Conversation(
            name: "Neighbours",
            texts: """
                Who has a ladder?
                A long one
                It's for the kite
                It's a long story
                Thanks, coming over
                We're making soup on Saturday
                Far too much of it
                Bring bowls
                And chairs, if you have any
                The lentil one and the other one
                Nobody knows what's in the other one
                There will be music
                Quiet music, until ten
                Everybody is welcome
                """
        ),
        Conversation(
            name: "Pottery",
            texts: """
                The kiln is at a thousand degrees
                Nobody open it, please
                Your bowl survived
                So did the handle, separately
                I can glue it
                Or we call it a vase
                Glazing on Tuesday
                The green one turned out brown
                The brown one turned out green
                So all in all it's even
                We're out of the white clay
                There's plenty of the red
                Aprons are washed
                Who made the tiny elephant?
                """
        ),
        Conversation(
            name: "Tomas",
            texts: """
                Happy birthday!
                I know it's tomorrow
                I wanted to be first
                Did the parcel come?
                Don't open it
                You've opened it
                It goes the other way up
                There's a switch at the back
                Not that one
                Yes, it's supposed to do that
                It stops after a while
                Mine did
                Lovely, isn't it?
                Have a wonderful day tomorrow
                """
        ),
    ]
}
#endif
